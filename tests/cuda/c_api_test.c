/* dequant_cuda.h as a C program calls it, over kernels on the host: device memory is any memory. */
#include "dequant_cuda.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int good, const char* what, int line) {
  if (good) return;
  fprintf(stderr, "line %d: %s\n", line, what);
  ++failures;
}
#define CHECK(condition) check(condition, #condition, __LINE__)

static dequant_error error;

static int says(dequant_code code, const char* text) {
  const int found = code == DEQUANT_INVALID_ARGUMENT && strstr(error.message, text) != NULL;
  if (!found) fprintf(stderr, "%d: %s\n", (int)code, error.message);
  return found;
}

/* int8 [4, 16], a scale and a zero point for each row. */
static void run_onnx(void) {
  static int8_t x[64];
  static const float scale[4] = {0.5F, 2.0F, -1.0F, 0.1F};
  static const int8_t zero[4] = {1, -2, 3, 0};
  const int64_t shape[] = {4, 16}, scales[] = {4}, axis = 0;
  float wanted[64], y[64];
  dequant_onnx node;
  dequant_plan* plan = NULL;
  dequant_buffers buffers, part;
  dequant_cuda_options options;
  dequant_cuda_slices slices;
  int i;

  for (i = 0; i < 64; ++i) x[i] = (int8_t)(i * 7 % 256 - 100);
  memset(&node, 0, sizeof node);
  node.struct_size = sizeof node;
  node.opset = 21;
  node.x.element = DEQUANT_INT8;
  node.x.rank = 2;
  node.x.shape = shape;
  node.x_scale.element = DEQUANT_FLOAT32;
  node.x_scale.rank = 1;
  node.x_scale.shape = scales;
  node.x_zero_point = node.x_scale;
  node.x_zero_point.element = DEQUANT_INT8;
  node.axis = &axis;
  CHECK(dequant_plan_onnx(&node, &plan, &error) == DEQUANT_OK);

  memset(&buffers, 0, sizeof buffers);
  buffers.struct_size = sizeof buffers;
  buffers.x = x;
  buffers.x_bytes = sizeof x;
  buffers.scale = scale;
  buffers.scale_bytes = sizeof scale;
  buffers.zero_point = zero;
  buffers.zero_point_bytes = sizeof zero;
  buffers.y = wanted;
  buffers.y_bytes = sizeof wanted;
  CHECK(dequant_run(plan, &buffers, NULL, &error) == DEQUANT_OK);

  buffers.y = y;
  memset(y, 0, sizeof y);
  CHECK(dequant_cuda_needs_faults(plan) == 0 && dequant_cuda_needs_faults(NULL) == 0);
  CHECK(dequant_cuda_run(plan, &buffers, NULL, &error) == DEQUANT_OK);
  CHECK(memcmp(y, wanted, sizeof y) == 0);

  /* The elements of the second and third row, by themselves. */
  CHECK(dequant_cuda_row_elements(plan) == 16 && dequant_cuda_row_elements(NULL) == 0);
  memset(y, 0, sizeof y);
  memset(&slices, 0, sizeof slices);
  slices.struct_size = sizeof slices;
  CHECK(dequant_cuda_slices_of(plan, 16, 48, &slices, &error) == DEQUANT_OK);
  CHECK(slices.x.begin == 16 && slices.x.end == 48 && slices.y.begin == 64 && slices.y.end == 192);
  CHECK(slices.min_range.end == 0 && slices.max_range.end == 0);
  part = buffers;
  part.x = x + slices.x.begin;
  part.x_bytes = slices.x.end - slices.x.begin;
  part.scale = (const char*)scale + slices.scale.begin;
  part.scale_bytes = slices.scale.end - slices.scale.begin;
  part.zero_point = zero + slices.zero_point.begin;
  part.zero_point_bytes = slices.zero_point.end - slices.zero_point.begin;
  part.y = (char*)y + slices.y.begin;
  part.y_bytes = slices.y.end - slices.y.begin;
  CHECK(dequant_cuda_run_range(plan, 16, 48, &part, NULL, &error) == DEQUANT_OK);
  CHECK(memcmp(y + 16, wanted + 16, 32 * sizeof *y) == 0 && y[15] == 0 && y[48] == 0);

  CHECK(says(dequant_cuda_run_range(plan, 16, 65, &part, NULL, &error), "elements: [16, 65) of"));
  CHECK(says(dequant_cuda_slices_of(plan, -1, 2, &slices, &error), "elements: [-1, 2) of 64"));
  CHECK(says(dequant_cuda_slices_of(plan, 0, 2, NULL, &error), "dequant_cuda_slices: null"));
  CHECK(says(dequant_cuda_run(NULL, &buffers, NULL, &error), "plan: null"));
  CHECK(says(dequant_cuda_run(plan, NULL, NULL, &error), "dequant_buffers: null"));
  buffers.x_bytes = 63;
  CHECK(says(dequant_cuda_run(plan, &buffers, NULL, &error), "x: "));
  buffers.x_bytes = 64;
  buffers.y = x;
  CHECK(dequant_cuda_run(plan, &buffers, NULL, &error) == DEQUANT_INVALID_ARGUMENT);
  buffers.y = y;
  memset(&options, 0, sizeof options);
  CHECK(says(dequant_cuda_run(plan, &buffers, &options, &error), "dequant_cuda_options"));
  options.struct_size = sizeof options;
  CHECK(dequant_cuda_run(plan, &buffers, &options, &error) == DEQUANT_OK);
  CHECK(says(dequant_cuda_run_scheme(plan, NULL, &options, &error), "plan: of no scheme"));
  CHECK(dequant_cuda_codebook(plan, NULL) == NULL);
  dequant_plan_free(plan);
}

/* A float8e4m3fn with a zero point that is not zero: only the device sees it. */
static void run_with_a_fault(void) {
  static const uint8_t x[8] = {0x38, 0x40, 0x48, 0x38, 0x38, 0x38, 0x38, 0x38};
  static const float scale[1] = {2};
  uint8_t zero = 0;
  const int64_t shape[] = {8};
  uint32_t faults = 0;
  float y[8];
  dequant_onnx node;
  dequant_plan* plan = NULL;
  dequant_buffers buffers;
  dequant_cuda_options options;

  memset(&node, 0, sizeof node);
  node.struct_size = sizeof node;
  node.opset = 21;
  node.x.element = DEQUANT_FLOAT8E4M3FN;
  node.x.rank = 1;
  node.x.shape = shape;
  node.x_scale.element = DEQUANT_FLOAT32;
  node.x_zero_point.element = DEQUANT_FLOAT8E4M3FN;
  CHECK(dequant_plan_onnx(&node, &plan, &error) == DEQUANT_OK);
  memset(&buffers, 0, sizeof buffers);
  buffers.struct_size = sizeof buffers;
  buffers.x = x;
  buffers.x_bytes = sizeof x;
  buffers.scale = scale;
  buffers.scale_bytes = sizeof scale;
  buffers.zero_point = &zero;
  buffers.zero_point_bytes = 1;
  buffers.y = y;
  buffers.y_bytes = sizeof y;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  CHECK(dequant_cuda_needs_faults(plan) == 1);
  CHECK(says(dequant_cuda_run(plan, &buffers, &options, &error), "faults"));
  options.faults = &faults;
  CHECK(dequant_cuda_run(plan, &buffers, &options, &error) == DEQUANT_OK);
  CHECK(faults == 0 && y[0] == 2 && y[1] == 4 && y[2] == 8);
  zero = 1;
  CHECK(dequant_cuda_run(plan, &buffers, &options, &error) == DEQUANT_OK);
  CHECK(faults == DEQUANT_CUDA_ZERO_POINT);
  dequant_plan_free(plan);
}

/* NVFP4 of ModelOpt [1, 16], whose scheme says the value of each code. */
static void run_scheme(void) {
  static const uint8_t codes[8] = {0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
  static const uint8_t scale[1] = {0x40};
  static const float second[1] = {0.5F};
  static const int64_t code_shape[] = {1, 8}, scale_shape[] = {1, 1};
  dequant_scheme_tensor tensors[3];
  const void* data[3];
  uint64_t bytes[3] = {sizeof codes, sizeof scale, sizeof second};
  dequant_cuda_slice slices[3], y_slice;
  uint64_t size = 0;
  const void* codebook;
  float table[64];
  float wanted[16], y[16];
  dequant_scheme node;
  dequant_plan* plan = NULL;
  dequant_scheme_buffers buffers;
  dequant_cuda_options options;

  memset(tensors, 0, sizeof tensors);
  tensors[0].name = "weight";
  tensors[0].type.element = DEQUANT_UINT8;
  tensors[0].type.rank = 2;
  tensors[0].type.shape = code_shape;
  tensors[1].name = "weight_scale";
  tensors[1].type.element = DEQUANT_FLOAT8E4M3FN;
  tensors[1].type.rank = 2;
  tensors[1].type.shape = scale_shape;
  tensors[2].name = "weight_scale_2";
  tensors[2].type.element = DEQUANT_FLOAT32;
  data[0] = codes;
  data[1] = scale;
  data[2] = second;
  memset(&node, 0, sizeof node);
  node.struct_size = sizeof node;
  node.name = "modelopt";
  node.tensors = tensors;
  node.tensor_count = 3;
  node.output = DEQUANT_FLOAT32;
  CHECK(dequant_plan_scheme(&node, &plan, &error) == DEQUANT_OK);
  memset(&buffers, 0, sizeof buffers);
  buffers.struct_size = sizeof buffers;
  buffers.tensors = data;
  buffers.tensor_bytes = bytes;
  buffers.tensor_count = 3;
  buffers.y = wanted;
  buffers.y_bytes = sizeof wanted;
  CHECK(dequant_run_scheme(plan, &buffers, NULL, &error) == DEQUANT_OK);

  buffers.y = y;
  codebook = dequant_cuda_codebook(plan, &size);
  CHECK(codebook != NULL && size > 0 && size <= sizeof table);
  if (codebook == NULL || size > sizeof table) return;
  CHECK(says(dequant_cuda_run_scheme(plan, &buffers, NULL, &error), "codebook: 0 bytes"));
  memcpy(table, codebook, size); /* to the device */
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.codebook = table;
  options.codebook_bytes = size;
  CHECK(dequant_cuda_run_scheme(plan, &buffers, &options, &error) == DEQUANT_OK);
  CHECK(memcmp(y, wanted, sizeof y) == 0);
  bytes[2] = 3;
  CHECK(says(dequant_cuda_run_scheme(plan, &buffers, &options, &error), "weight_scale_2: 3 bytes"));
  bytes[2] = sizeof second;

  memset(y, 0, sizeof y);
  CHECK(dequant_cuda_scheme_slices(plan, 8, 16, slices, 3, &y_slice, &error) == DEQUANT_OK);
  CHECK(slices[0].begin == 4 && slices[0].end == 8 && y_slice.begin == 32 && y_slice.end == 64);
  data[0] = codes + slices[0].begin;
  bytes[0] = slices[0].end - slices[0].begin;
  buffers.y = y + 8;
  buffers.y_bytes = y_slice.end - y_slice.begin;
  CHECK(dequant_cuda_run_scheme_range(plan, 8, 16, &buffers, &options, &error) == DEQUANT_OK);
  CHECK(memcmp(y + 8, wanted + 8, 8 * sizeof *y) == 0 && y[7] == 0);
  CHECK(says(dequant_cuda_scheme_slices(plan, 0, 8, slices, 2, &y_slice, &error), "tensor_count"));
  CHECK(says(dequant_cuda_run(plan, NULL, &options, &error), "plan: of a scheme"));
  CHECK(says(dequant_cuda_slices_of(plan, 0, 8, NULL, &error), "plan: of a scheme"));
  dequant_plan_free(plan);
}

int main(void) {
  error.struct_size = sizeof error;
  run_onnx();
  run_with_a_fault();
  run_scheme();
  if (failures == 0) printf("dequant_cuda.h: good\n");
  return failures != 0;
}
