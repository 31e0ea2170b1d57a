// oneDNN: a reorder from integers to floats with source scales. oneDNN has no zero points per
// channel, so the first zero point is used for all channels. OMP_NUM_THREADS sets the number of
// OpenMP threads.
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "native.h"

namespace {

using dnnl::memory;

std::string error;

struct Task {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::reorder reorder;
  std::unordered_map<int, memory> arguments;
};

memory::data_type type_of(int element) {
  switch (element) {
    case 1: return memory::data_type::f32;
    case 2: return memory::data_type::u8;
    case 3: return memory::data_type::s8;
    case 6: return memory::data_type::s32;
    case 10: return memory::data_type::f16;
    case 16: return memory::data_type::bf16;
    default: throw dnnl::error(dnnl_unimplemented, "no such element");
  }
}

}  // namespace

void* peer_make(int x_element, int y_element, int64_t rows, int64_t columns, int axis, int,
                const float* scale, const int32_t* zero_point, const void* x, void* y) try {
  auto task = std::make_unique<Task>();
  const memory::dims dims{rows, columns};
  const memory::desc from(dims, type_of(x_element), memory::format_tag::ab);
  const memory::desc to(dims, type_of(y_element), memory::format_tag::ab);
  const int mask = axis < 0 ? 0 : 1 << axis;
  const int64_t scales = axis < 0 ? 1 : dims[static_cast<size_t>(axis)];

  dnnl::primitive_attr attributes;
  attributes.set_scales_mask(DNNL_ARG_SRC, mask);
  const bool shifted = x_element != 6;
  if (shifted) attributes.set_zero_points_mask(DNNL_ARG_SRC, 0);
  task->reorder = dnnl::reorder(
      dnnl::reorder::primitive_desc(task->engine, from, task->engine, to, attributes));

  const auto bind = [&](int argument, const memory::desc& desc, const void* data) {
    task->arguments.emplace(argument, memory(desc, task->engine, const_cast<void*>(data)));
  };
  const auto line = [](int64_t size, memory::data_type type) {
    return memory::desc({size}, type, memory::format_tag::a);
  };
  bind(DNNL_ARG_FROM, from, x);
  bind(DNNL_ARG_TO, to, y);
  bind(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, line(scales, memory::data_type::f32), scale);
  if (shifted) {
    bind(DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, line(1, memory::data_type::s32), zero_point);
  }
  return task.release();
} catch (const std::exception& e) {
  error = e.what();
  return nullptr;
}

int peer_run(void* handle) try {
  auto& task = *static_cast<Task*>(handle);
  task.reorder.execute(task.stream, task.arguments);
  task.stream.wait();
  return 0;
} catch (const std::exception& e) {
  error = e.what();
  return 1;
}

const char* peer_error() { return error.c_str(); }

const char* peer_version() {
  static const std::string text = [] {
    const dnnl_version_t* v = dnnl_version();
    return std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
           std::to_string(v->patch);
  }();
  return text.c_str();
}
