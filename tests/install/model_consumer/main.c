/* A program of somebody else: uses every function of dequant.h that is about model files.
 *
 *   c_model_consumer FILE.gguf OUT.gguf */
#include <stdio.h>
#include <string.h>

#include "dequant.h"

static int count_bytes(void* self, uint64_t offset, const void* bytes, uint64_t count) {
  (void)offset;
  (void)bytes;
  *(uint64_t*)self += count;
  return 0;
}

int main(int argc, char** argv) {
  dequant_error error = {.struct_size = sizeof error};
  dequant_model* model = NULL;
  dequant_model_tensor tensor = {.struct_size = sizeof tensor};
  const dequant_model_read_options read = {.struct_size = sizeof read, .output = DEQUANT_FLOAT32};
  const dequant_model_convert_options convert = {.struct_size = sizeof convert, .overwrite = 1};
  size_t i = 0;
  float y[32];
  uint64_t bytes = 0;
  char* report = NULL;
  if (argc != 3) return 2;
  const int good =
      dequant_model_open(argv[1], NULL, &model, &error) == DEQUANT_OK &&
      strcmp(dequant_model_format(model), "gguf") == 0 && dequant_model_tensor_count(model) == 1 &&
      dequant_model_left_count(model) == 0 &&
      dequant_model_left_at(model, 0, &tensor, NULL) == DEQUANT_INVALID_ARGUMENT &&
      dequant_model_find(model, "q", &i, &error) == DEQUANT_OK &&
      dequant_model_tensor_at(model, i, &tensor, &error) == DEQUANT_OK &&
      tensor.bytes == sizeof y &&
      dequant_model_read(model, i, y, sizeof y, &read, &error) == DEQUANT_OK && y[3] == 1.5F &&
      dequant_model_read_bands(model, i, count_bytes, &bytes, NULL, &error) == DEQUANT_OK &&
      bytes == sizeof y &&
      dequant_model_convert(argv[1], argv[2], &convert, &report, &error) == DEQUANT_OK &&
      report != NULL;
  puts(good ? "dequant.h reads models" : error.message);
  dequant_text_free(report);
  dequant_model_close(model);
  return good ? 0 : 1;
}
