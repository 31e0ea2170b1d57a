// XNNPACK: its convert operators from quantized 8-bit integers to float32, with one scale.
#include <sched.h>
#include <xnnpack.h>

#include <memory>

#include "native.h"

namespace {

const char* error = "";

struct Task {
  xnn_operator_t convert = nullptr;
  pthreadpool_t threads = nullptr;
};

/// A pool of threads. The calling thread is bound to the first processor, the other threads to the
/// other processors, as with OMP_PROC_BIND. The threads wait by spinning, so two threads on one
/// processor would slow each other.
pthreadpool_t spread_threads(size_t count) {
  cpu_set_t all, first, rest;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return pthreadpool_create(count);
  rest = all;
  CPU_CLR(0, &rest);
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  if (CPU_COUNT(&rest) > 0) sched_setaffinity(0, sizeof rest, &rest);
  const pthreadpool_t threads = pthreadpool_create(count);
  if (sched_setaffinity(0, sizeof first, &first) != 0) sched_setaffinity(0, sizeof all, &all);
  return threads;
}

void* failed(const char* why) {
  error = why;
  return nullptr;
}

}  // namespace

void* peer_make(int x_element, int, int64_t rows, int64_t columns, int, int threads,
                const float* scale, const int32_t* zero_point, const void* x, void* y) {
  if (xnn_initialize(nullptr) != xnn_status_success) return failed("xnn_initialize failed");
  auto task = std::make_unique<Task>();
  if (threads > 1) {
    static const pthreadpool_t shared = spread_threads(static_cast<size_t>(threads));
    task->threads = shared;
  }
  const auto elements = static_cast<size_t>(rows * columns);
  auto* out = static_cast<float*>(y);
  xnn_status status = xnn_status_unsupported_parameter;
  if (x_element == 2) {
    status = xnn_create_convert_nc_qu8_f32(1, 1, 1, *scale, static_cast<uint8_t>(*zero_point), 0,
                                           &task->convert);
    if (status == xnn_status_success) {
      status = xnn_setup_convert_nc_qu8_f32(task->convert, elements, static_cast<const uint8_t*>(x),
                                            out, task->threads);
    }
  } else if (x_element == 3) {
    status = xnn_create_convert_nc_qs8_f32(1, 1, 1, *scale, static_cast<int8_t>(*zero_point), 0,
                                           &task->convert);
    if (status == xnn_status_success) {
      status = xnn_setup_convert_nc_qs8_f32(task->convert, elements, static_cast<const int8_t*>(x),
                                            out, task->threads);
    }
  }
  if (status != xnn_status_success) return failed("no such operator");
  return task.release();
}

int peer_run(void* handle) {
  auto& task = *static_cast<Task*>(handle);
  if (xnn_run_operator(task.convert, task.threads) == xnn_status_success) return 0;
  error = "xnn_run_operator failed";
  return 1;
}

const char* peer_error() { return error; }

// The header has no version number; install.py passes the version of the Debian package.
const char* peer_version() { return XNNPACK_VERSION; }
