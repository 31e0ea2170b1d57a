// Whole dequantizations with random data, and what they must yield: the specification's index
// formula on N-dimensional indices and the scalar reference, element by element.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "dequant/plan.h"
#include "element/codes.h"
#include "element/reference.h"
#include "support/float_bits.h"
#include "support/packed.h"
#include "support/print.h"
#include "support/spec_index.h"

namespace dequant::testing {

struct Example {
  Granular shapes;
  Plan plan;
  Bytes x;
  Bytes scale;
  Bytes zero_point;  ///< empty if the plan has none

  int64_t count() const { return count_of(shapes.x); }
  size_t y_bytes() const { return bytes_for(plan.output, count()); }
};

/// Element types of an example.
struct Types {
  Element x = Element::int8;
  Element scale = Element::float32;
  Element y = Element::float32;
  bool zero_point = true;
};

inline Plan plan_of(const Granular& shapes, const Types& types) {
  // ONNX has no uint32; the plan of int32 is the same otherwise.
  const Element x = types.x == Element::uint32 ? Element::int32 : types.x;
  auto plan = onnx::dequantize_linear(node_of(shapes, x, types.scale, types.y, types.zero_point));
  EXPECT_TRUE(plan) << plan.error().message;
  plan->input = types.x;
  return *plan;
}

inline Bytes random_scales(Random& random, Element element, int64_t count) {
  if (element != Element::float32) return random_bytes(random, bytes_for(element, count));
  std::vector<uint32_t> codes(static_cast<size_t>(count));
  for (uint32_t& code : codes) code = random_scale(random);
  return pack(element, codes);
}

/// Any integers; of floats only zeros, the negative ones included where they may be given.
inline Bytes random_zero_points(Random& random, Element x, int64_t count) {
  if (kind(x) != Kind::floating) return random_bytes(random, bytes_for(x, count));
  const uint32_t minus_zero = uint32_t{1} << (bits(x) - 1);
  std::vector<uint32_t> codes(static_cast<size_t>(count));
  for (uint32_t& code : codes)
    code = random.coin() && is_floating_zero_point(x, minus_zero) ? minus_zero : 0;
  return pack(x, codes);
}

inline Example random_example(Random& random, Granular shapes, const Types& types) {
  Example e{.shapes = std::move(shapes), .plan = {}, .x = {}, .scale = {}, .zero_point = {}};
  e.plan = plan_of(e.shapes, types);
  const int64_t scales = count_of(e.shapes.scale);
  e.x = random_bytes(random, bytes_for(types.x, e.count()));
  e.scale = random_scales(random, types.scale, scales);
  if (types.zero_point) e.zero_point = random_zero_points(random, types.x, scales);
  return e;
}

/// The output by the specification.
inline Bytes expected(const Example& e) {
  Bytes y(e.y_bytes());
  const size_t size = bytes_for(e.plan.output, 1);
  for (int64_t i = 0; i < e.count(); ++i) {
    const int64_t param = spec_scale_index(e.shapes, i);
    const float scale = float_value(e.plan.scale, code_at(e.plan.scale, e.scale, param));
    int64_t zero = 0;
    if (e.plan.has_zero_point && kind(e.plan.input) != Kind::floating) {
      zero = integer_value(e.plan.input, code_at(e.plan.input, e.zero_point, param));
    }
    const uint32_t code = reference_dequantize(e.plan.input, code_at(e.plan.input, e.x, i), zero,
                                               scale, e.plan.output);
    std::memcpy(y.data() + static_cast<size_t>(i) * size, &code, size);
  }
  return y;
}

inline constexpr std::byte kUntouched{0xA5};

/// The output by run().
inline Bytes run_example(const Example& e, const RunOptions& options = {}) {
  Bytes y(e.y_bytes(), kUntouched);
  const Status status = run(e.plan, {e.x, e.scale, e.zero_point, y}, options);
  EXPECT_TRUE(status) << status.error().message;
  return y;
}

/// For EXPECT_TRUE: the same bytes; otherwise says which element is the first to differ.
inline ::testing::AssertionResult same_output(const Example& e, const Bytes& got,
                                              const Bytes& want) {
  if (got == want) return ::testing::AssertionSuccess();
  const auto at =
      std::mismatch(got.begin(), got.end(), want.begin(), want.end()).first - got.begin();
  const auto i = at * 8 / bits(e.plan.output);
  return ::testing::AssertionFailure()
         << to_string(e.plan) << ": element " << i << " is " << code_at(e.plan.output, got, i)
         << ", not " << code_at(e.plan.output, want, i);
}

inline Types random_types(Random& random) {
  static constexpr Element kScales[] = {Element::float32, Element::float32, Element::float16,
                                        Element::bfloat16, Element::float8e8m0};
  static constexpr Element kOutputs[] = {Element::float32, Element::float16, Element::bfloat16};
  Types types;
  do types.x = random.of(elements());
  while (!is_input(types.x));
  types.scale = kScales[random.in(0, 4)];
  types.y = kOutputs[random.in(0, 2)];
  types.zero_point = random.coin();
  return types;
}

}  // namespace dequant::testing
