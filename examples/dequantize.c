/* dequant from C: plans a node of ONNX and one of TensorFlow, runs both, the second on threads of
 * its own, and shows what a wrong node gets. docs/c_api.md has what it prints. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

#include "dequant.h"

static dequant_error error = {.struct_size = sizeof error};

/* Ends the program with the reason if a call failed. */
static void check(dequant_code code) {
  if (code == DEQUANT_OK) return;
  fprintf(stderr, "%s: %s\n", dequant_code_name(code), error.message);
  exit(1);
}

/* ---- Threads of our own ---------------------------------------------------------------------- */

typedef struct job {
  atomic_size_t next;
  size_t count;
  dequant_task task;
  void* context;
} job;

/* Takes tasks until none is left. */
static int work(void* argument) {
  job* j = argument;
  for (size_t i = atomic_fetch_add(&j->next, 1); i < j->count; i = atomic_fetch_add(&j->next, 1)) {
    j->task(j->context, i);
  }
  return 0;
}

/* A dequant_parallel_for: the calling thread and up to three more. `self` counts the tasks. */
static int parallel_for(void* self, size_t count, dequant_task task, void* context) {
  job j = {0, count, task, context};
  thrd_t helpers[3];
  size_t started = 0;
  /* A helper that does not start is no failure: the others do its work. */
  while (started < 3 && thrd_create(&helpers[started], work, &j) == thrd_success) ++started;
  work(&j);
  for (size_t i = 0; i < started; ++i) thrd_join(helpers[i], NULL);
  *(size_t*)self += count;
  return 0;
}

/* ---- Two nodes ------------------------------------------------------------------------------- */

static void run_onnx(void) {
  const int8_t x[] = {-128, 0, 127, 5, 6, 7};
  const float scale[] = {0.5F, 0.25F};
  const int64_t x_shape[] = {2, 3};
  const int64_t scale_shape[] = {2};
  const int64_t axis = 0;
  const dequant_onnx node = {.struct_size = sizeof node,
                             .opset = 21,
                             .x = {DEQUANT_INT8, 2, x_shape},
                             .x_scale = {DEQUANT_FLOAT32, 1, scale_shape},
                             .axis = &axis};
  dequant_plan* plan = NULL;
  check(dequant_plan_onnx(&node, &plan, &error));
  printf("%s\n", dequant_plan_text(plan));

  float y[6];
  const dequant_buffers buffers = {.struct_size = sizeof buffers,
                                   .x = x,
                                   .x_bytes = sizeof x,
                                   .scale = scale,
                                   .scale_bytes = sizeof scale,
                                   .y = y,
                                   .y_bytes = sizeof y};
  check(dequant_run(plan, &buffers, NULL, &error));
  for (size_t i = 0; i < 6; ++i) printf("%g%c", (double)y[i], i == 5 ? '\n' : ' ');
  dequant_plan_free(plan);
}

static void run_tensorflow(void) {
  const int64_t shape[] = {512, 512};
  const float min_range = -1.0F;
  const float max_range = 1.0F;
  const dequant_tensorflow node = {.struct_size = sizeof node,
                                   .input = {DEQUANT_UINT8, 2, shape},
                                   .min_range = {DEQUANT_FLOAT32, 0, NULL},
                                   .max_range = {DEQUANT_FLOAT32, 0, NULL},
                                   .mode = DEQUANT_MIN_COMBINED};
  dequant_plan* plan = NULL;
  check(dequant_plan_tensorflow(&node, &plan, &error));
  printf("%s\n", dequant_plan_text(plan));

  dequant_sizes sizes = {.struct_size = sizeof sizes};
  check(dequant_plan_sizes(plan, &sizes, &error));
  uint8_t* x = malloc((size_t)sizes.x_bytes);
  float* y = malloc((size_t)sizes.y_bytes);
  if (x == NULL || y == NULL) exit(1);
  for (size_t i = 0; i < sizes.x_bytes; ++i) x[i] = (uint8_t)i;
  const dequant_buffers buffers = {.struct_size = sizeof buffers,
                                   .x = x,
                                   .x_bytes = sizes.x_bytes,
                                   .min_range = &min_range,
                                   .min_range_bytes = sizeof min_range,
                                   .max_range = &max_range,
                                   .max_range_bytes = sizeof max_range,
                                   .y = y,
                                   .y_bytes = sizes.y_bytes};
  size_t tasks = 0;
  const dequant_options options = {
      .struct_size = sizeof options, .parallel_for = parallel_for, .self = &tasks};
  check(dequant_run(plan, &buffers, &options, &error));
  printf("%g .. %g, in %zu tasks\n", (double)y[0], (double)y[sizes.elements - 1], tasks);
  free(y);
  free(x);
  dequant_plan_free(plan);
}

/* ---- A wrong node ---------------------------------------------------------------------------- */

static void show_error(void) {
  const int64_t x_shape[] = {2, 3};
  const int64_t scale_shape[] = {3};
  const int64_t axis = 2;
  const dequant_onnx node = {.struct_size = sizeof node,
                             .opset = 21,
                             .x = {DEQUANT_INT8, 2, x_shape},
                             .x_scale = {DEQUANT_FLOAT32, 1, scale_shape},
                             .axis = &axis};
  dequant_plan* plan = NULL;
  const dequant_code code = dequant_plan_onnx(&node, &plan, &error);
  printf("%s: %s\n", dequant_code_name(code), error.message);
}

int main(void) {
  run_onnx();
  run_tensorflow();
  show_error();
  return 0;
}
