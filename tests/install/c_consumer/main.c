/* A C program of somebody else: uses every function of the C API and checks one result of each. */
#include <stdio.h>
#include <string.h>

#include "dequant.h"
#include "dequant/directml/DirectML.h"

static int failures = 0;

static void expect(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "c_consumer: %s\n", what);
  ++failures;
}

static const int64_t four[] = {4};
static const int64_t one[] = {1};

/* Runs a plan on the same 1 2 3 4 and 0.5 with zero point 1, whatever its dialect; frees it. */
static void run(dequant_plan* plan, const char* what) {
  static const unsigned char x[] = {1, 2, 3, 4};
  static const float scale = 0.5F;
  static const unsigned char zero_point[4] = {1};
  dequant_error error = {.struct_size = sizeof error};
  dequant_sizes sizes = {.struct_size = sizeof sizes};
  const dequant_options options = {.struct_size = sizeof options, .threads = 1};
  float y[4] = {0};
  expect(dequant_plan_sizes(plan, &sizes, &error) == DEQUANT_OK && sizes.elements == 4, what);
  expect(strlen(dequant_plan_text(plan)) > 0, what);
  const dequant_buffers buffers = {.struct_size = sizeof buffers,
                                   .x = x,
                                   .x_bytes = sizeof x,
                                   .scale = &scale,
                                   .scale_bytes = sizeof scale,
                                   .zero_point = zero_point,
                                   .zero_point_bytes = sizes.zero_point_bytes,
                                   .y = y,
                                   .y_bytes = sizeof y};
  expect(dequant_run(plan, &buffers, &options, &error) == DEQUANT_OK, error.message);
  expect(y[0] == 0.0F && y[1] == 0.5F && y[3] == 1.5F, what);
  dequant_plan_free(plan);
}

static void run_linear(void) {
  dequant_plan* plan = NULL;
  const dequant_onnx onnx = {.struct_size = sizeof onnx,
                             .opset = 25,
                             .x = {DEQUANT_UINT8, 1, four},
                             .x_scale = {DEQUANT_FLOAT32, 0, NULL},
                             .x_zero_point = {DEQUANT_UINT8, 0, NULL}};
  expect(dequant_plan_onnx(&onnx, &plan, NULL) == DEQUANT_OK, "onnx");
  run(plan, "onnx");
  const dequant_microsoft microsoft = {.struct_size = sizeof microsoft,
                                       .version = 1,
                                       .x = {DEQUANT_UINT8, 1, four},
                                       .x_scale = {DEQUANT_FLOAT32, 0, NULL},
                                       .x_zero_point = {DEQUANT_UINT8, 0, NULL}};
  expect(dequant_plan_microsoft(&microsoft, &plan, NULL) == DEQUANT_OK, "microsoft");
  run(plan, "microsoft");
  const dequant_webnn webnn = {.struct_size = sizeof webnn,
                               .input = {DEQUANT_UINT8, 1, four},
                               .scale = {DEQUANT_FLOAT32, 1, one},
                               .zero_point = {DEQUANT_UINT8, 1, one}};
  expect(dequant_plan_webnn(&webnn, &plan, NULL) == DEQUANT_OK, "webnn");
  run(plan, "webnn");
}

static void run_directml(void) {
  static const UINT sizes[] = {1, 1, 1, 4};
  static const UINT broadcast[] = {0, 0, 0, 0};
  const DML_BUFFER_TENSOR_DESC buffers[] = {
      {DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, 4, 0},
      {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, broadcast, 4, 0},
      {DML_TENSOR_DATA_TYPE_UINT8, DML_TENSOR_FLAG_NONE, 4, sizes, broadcast, 4, 0},
      {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, NULL, 16, 0}};
  DML_TENSOR_DESC tensors[4];
  for (int i = 0; i < 4; ++i) {
    tensors[i].Type = DML_TENSOR_TYPE_BUFFER;
    tensors[i].Desc = &buffers[i];
  }
  const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC linear = {&tensors[0], &tensors[1],
                                                                   &tensors[2], &tensors[3]};
  const DML_OPERATOR_DESC desc = {DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR, &linear};
  dequant_plan* plan = NULL;
  expect(dequant_plan_directml(&desc, DML_FEATURE_LEVEL_5_0, &plan, NULL) == DEQUANT_OK,
         "directml");
  run(plan, "directml");
}

static void plan_tensorflow(void) {
  dequant_plan* plan = NULL;
  const dequant_tensorflow node = {.struct_size = sizeof node,
                                   .input = {DEQUANT_UINT8, 1, four},
                                   .min_range = {DEQUANT_FLOAT32, 0, NULL},
                                   .max_range = {DEQUANT_FLOAT32, 0, NULL}};
  dequant_sizes sizes = {.struct_size = sizeof sizes};
  expect(dequant_plan_tensorflow(&node, &plan, NULL) == DEQUANT_OK, "tensorflow");
  expect(dequant_plan_sizes(plan, &sizes, NULL) == DEQUANT_OK, "tensorflow sizes");
  expect(sizes.min_range_bytes == 4 && sizes.scale_bytes == 0, "tensorflow ranges");
  dequant_plan_free(plan);
}

static void look_up(void) {
  dequant_error error = {.struct_size = sizeof error};
  expect(strcmp(dequant_version(), DEQUANT_VERSION) == 0, "version");
  expect(strcmp(dequant_code_name(DEQUANT_LIMIT), "limit") == 0, "code_name");
  expect(strcmp(dequant_element_name(DEQUANT_INT4), "int4") == 0, "element_name");
  expect(dequant_element_from_name("int4") == DEQUANT_INT4, "element_from_name");
  expect(dequant_element_bits(DEQUANT_INT4) == 4, "element_bits");
  expect(strcmp(dequant_block_type_name(DEQUANT_Q4_K), "Q4_K") == 0, "block_type_name");
  expect(dequant_block_type_from_name("Q4_K") == DEQUANT_Q4_K, "block_type_from_name");
  expect(dequant_block_elements(DEQUANT_Q4_K) == 256, "block_elements");
  expect(dequant_block_bytes(DEQUANT_Q4_K) == 144, "block_bytes");
  expect(dequant_target_count() > 0 && dequant_target_name(0) != NULL, "targets");
  expect(dequant_force_target("none such", &error) == DEQUANT_INVALID_ARGUMENT, "force_target");
  expect(strstr(error.message, "none such") != NULL, "message");
  expect(dequant_force_target(dequant_active_target(), NULL) == DEQUANT_OK, "active_target");
}

int main(void) {
  run_linear();
  run_directml();
  plan_tensorflow();
  look_up();
  if (failures == 0) puts("dequant " DEQUANT_VERSION " works in C");
  return failures == 0 ? 0 : 1;
}
