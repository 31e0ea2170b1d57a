// Hostile input to the C API. Everywhere: no signal and no sanitizer report, the same code and
// message on every target, and y untouched when a call fails.
//
//   pointers                       hostile_memory_test.cc
//   counts of scales, axes         hostile_axis_test.cc
//   ranks and dimensions           hostile_shape_test.cc
//   more than 2^32 elements        huge_test.cc
//   blocks                         hostile_block_test.cc
//   zero points, types             hostile_type_test.cc; all enumerations: struct_test.cc. A zero
//                                  point out of range cannot be said: it has the type of x
//   values of scales               hostile_value_test.cc
//   ranges                         hostile_range_test.cc
//   narrow_range                   hostile_type_test.cc; there is no num_bits
//   overlap, alignment, ends       hostile_memory_test.cc
//   strides                        hostile_stride_test.cc as DirectML says them, of a Plan in C++:
//                                  tests/execute/strided_hostile_test.cc
//   struct_size                    struct_test.cc, error_test.cc
//   plans that are none            hostile_host_test.cc
//   parallel_for                   threads_test.cc; there is no other callback, and longjmp is
//                                  documented as forbidden
//   memory runs out                memory_test.cc; there is no user's allocator
//   threads                        hostile_host_test.cc, threads_test.cc; two runs into one y are a
//                                  documented data race
//   state of the host              hostile_host_test.cc, tests/execute/host_state_test.cc
//   Python                         tests/package/
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "c_api/call.h"
#include "c_api/directml_node.h"

namespace dequant::testing::c {

/// Uses every target, one after another.
template <class Body>
void on_every_target(Body body) {
  const std::string before = dequant_active_target();
  for (size_t i = 0; i < dequant_target_count(); ++i) {
    const std::string name = dequant_target_name(i);
    EXPECT_EQ(dequant_force_target(name.c_str(), nullptr), DEQUANT_OK);
    SCOPED_TRACE(name);
    body();
  }
  EXPECT_EQ(dequant_force_target(before.c_str(), nullptr), DEQUANT_OK);
}

/// A plan and buffers that it runs on.
struct Case {
  std::string dialect;
  Planned planned;
  Buffers buffers;
};

/// Six elements in each dialect, all with buffers for all that the dialect has.
inline std::vector<Case> every_dialect() {
  const Dims dims{2, 3};
  const Dims one{1, 1};
  std::vector<Case> list;
  const Buffers linear{
      .x = Memory(6, 1), .scale = Memory(4, 1), .zero_point = Memory(1), .y = Memory(24)};
  list.push_back({"onnx", plan(OnnxNode{.has_zero = true}), linear});

  auto microsoft = sized<dequant_microsoft>();
  microsoft.version = 1;
  microsoft.x = tensor(DEQUANT_INT8, dims);
  microsoft.x_scale = tensor(DEQUANT_FLOAT32, {});
  microsoft.x_zero_point = tensor(DEQUANT_INT8, {});
  list.push_back({"microsoft", plan(microsoft), linear});

  auto webnn = sized<dequant_webnn>();
  webnn.input = tensor(DEQUANT_INT8, dims);
  webnn.scale = tensor(DEQUANT_FLOAT32, one);
  webnn.zero_point = tensor(DEQUANT_INT8, one);
  list.push_back({"webnn", plan(webnn), linear});

  list.push_back(
      {"tensorflow",
       plan(TensorFlowNode{}),
       {.x = Memory(6, 1), .min_range = Memory(4, 1), .max_range = Memory(4, 2), .y = Memory(24)}});

  DirectMLNode directml;
  list.push_back(
      {"directml",
       plan(directml),
       {.x = Memory(8, 1), .scale = Memory(4, 1), .zero_point = Memory(4), .y = Memory(24)}});
  for (const Case& c : list) EXPECT_TRUE(succeeds(c.planned)) << c.dialect;
  return list;
}

/// For EXPECT_TRUE: the run is refused with that word, by one message on all targets, and no byte
/// of `watched` changes.
inline ::testing::AssertionResult refused(const Planned& planned, const dequant_buffers& buffers,
                                          std::string_view word, const Memory& watched) {
  const Memory before = watched;
  const Outcome first = run(planned, buffers);
  on_every_target([&] {
    const Outcome again = run(planned, buffers);
    EXPECT_EQ(again.code, first.code);
    EXPECT_EQ(again.message, first.message);
  });
  if (watched != before) return ::testing::AssertionFailure() << "something was written";
  return is_invalid(first, word);
}

/// The output of a run that succeeds with the same bits on every target.
inline Memory output_of(const Planned& planned, Buffers& buffers) {
  Memory first;
  on_every_target([&] {
    buffers.y.assign(sizes_of(planned).y_bytes, kUntouched);
    EXPECT_TRUE(succeeds(run(planned, buffers.view())));
    if (first.empty()) first = buffers.y;
    EXPECT_EQ(buffers.y, first);
  });
  return first;
}

/// The output of an ONNX node on x, scales and zero points, as numbers.
template <class Y, class X, class Scale>
std::vector<Y> dequantize(const OnnxNode& node, const std::vector<X>& x,
                          const std::vector<Scale>& scale, const std::vector<X>& zero = {}) {
  const auto planned = plan(node);
  EXPECT_TRUE(succeeds(planned));
  if (!planned.plan) return {};
  Buffers b{.x = bytes_of(x), .scale = bytes_of(scale), .zero_point = bytes_of(zero)};
  return numbers_of<Y>(output_of(planned, b));
}

}  // namespace dequant::testing::c
