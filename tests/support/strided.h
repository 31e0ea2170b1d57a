// Random strides of every tensor of a strided plan, and the output by a loop over all indices that
// computes each offset by itself.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "support/example.h"
#include "support/packing.h"

namespace dequant::testing {

using Dimensions = std::vector<Dimension>;

/// Strides of one tensor: some dimensions repeat, the others are laid out in any order, with gaps.
inline void random_strides(Random& random, Dimensions& dimensions, int64_t Dimension::*stride,
                           bool input) {
  std::vector<size_t> order(dimensions.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (random.in(0, 2) == 0) {
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1],
                order[static_cast<size_t>(random.in(0, static_cast<int64_t>(i) - 1))]);
    }
  }
  int64_t next = random.in(0, 3) == 0 ? 2 : 1;
  const int64_t repeats = random.in(0, 2);  // of three dimensions
  for (size_t k = order.size(); k-- > 0;) {
    Dimension& d = dimensions[order[k]];
    if (input && random.in(0, 2) < repeats) continue;
    d.*stride = input && random.in(0, 9) == 0 ? -next : next;
    next = next * d.size + (random.in(0, 3) == 0 ? random.in(1, 5) : 0);
  }
}

inline Dimensions random_dimensions(Random& random) {
  Dimensions dimensions(static_cast<size_t>(random.in(1, 6)));
  int64_t room = 6000;
  for (Dimension& d : dimensions) {
    d.size = random.in(1, std::min<int64_t>(room, random.coin() ? 7 : 600));
    room /= d.size;
  }
  random_strides(random, dimensions, &Dimension::x, true);
  random_strides(random, dimensions, &Dimension::scale, true);
  random_strides(random, dimensions, &Dimension::zero_point, true);
  random_strides(random, dimensions, &Dimension::y, false);
  return dimensions;
}

struct Tensors {
  Bytes x;
  Bytes scale;
  Bytes zero_point;
  Bytes y;
  Bytes tensor_scale = {};
  Bytes group_index = {};
  Bytes codebook = {};

  Buffers buffers() {
    return {.x = x,
            .scale = scale,
            .zero_point = zero_point,
            .y = y,
            .tensor_scale = tensor_scale,
            .group_index = group_index,
            .codebook = codebook};
  }
};

/// Float32 codes at all edges.
inline uint32_t edge_code(Random& random) {
  static constexpr uint32_t kEdges[] = {0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x3F800000,
                                        0xBF800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00001,
                                        0x3B360B61, 0x453FEDCB, 0x0D800000, 0x71123456};
  return random.of(std::span(kEdges));
}

inline bool is_packed_by(const Packing& p) { return p.order != CodeOrder::of_element; }

/// The bytes of a tensor with or without a Packing.
inline size_t bytes_for(Element element, const Packing& packing, int64_t count) {
  return is_packed_by(packing) ? bytes_for(packing, count) : bytes_for(element, count);
}

/// The code of an element, that of a Packing as a code of the element.
inline uint32_t code_at(Element element, const Packing& packing, const Bytes& data, int64_t i) {
  if (!is_packed_by(packing)) return code_at(element, data, i);
  const uint32_t code = code_at(packing, data, i);
  const bool negative = kind(element) == Kind::signed_integer && (code >> (packing.bits - 1)) != 0;
  return negative ? code | (0xFFU << packing.bits & 0xFF) : code;
}

/// Most values of a codebook are near 1, some at all edges.
inline Bytes random_codebook(Random& random, int64_t count) {
  const bool edges = random.in(0, 3) == 0;
  std::vector<uint32_t> values(static_cast<size_t>(count));
  for (uint32_t& value : values) {
    value = edges ? random_scale(random)
                  : static_cast<uint32_t>(random.bits() & 0x83FFFFFF) | 0x3C000000;
  }
  return pack(Element::float32, values);
}

inline Tensors random_tensors(Random& random, const Plan& plan, size_t slack) {
  const Extents e = extents(plan);
  Tensors t;
  t.x = random_bytes(random, bytes_for(plan.input, plan.parameters.x_packing, e.x) + slack);
  t.codebook = random_codebook(random, e.codebook);
  t.scale = random_scales(random, plan.scale, e.scale);
  const Element zero = zero_point_element(plan);
  const Packing& of_zeros = plan.parameters.zero_point_packing;
  if (plan.has_zero_point && (zero != plan.input || is_packed_by(of_zeros))) {
    t.zero_point = random_bytes(random, bytes_for(zero, of_zeros, e.zero_point));
  } else if (plan.has_zero_point) {
    t.zero_point = random_zero_points(random, plan.input, e.zero_point);
  }
  if (e.tensor_scale != 0) t.tensor_scale = pack(Element::float32, {edge_code(random)});
  std::vector<uint32_t> groups(static_cast<size_t>(e.group_index));
  for (uint32_t& g : groups) {
    g = static_cast<uint32_t>(random.in(0, plan.parameters.group_index.groups - 1));
  }
  t.group_index = pack(Element::int32, groups);
  t.y.assign(bytes_for(plan.output, e.y) + slack, kUntouched);
  return t;
}

/// The offset of the element whose indices are all 0: negative strides count down from there.
inline int64_t start(const Dimensions& dimensions, int64_t Dimension::*stride) {
  int64_t at = 0;
  for (const Dimension& d : dimensions) {
    const bool of_params = stride == &Dimension::scale || stride == &Dimension::zero_point;
    if (d.*stride < 0) at -= (d.size - 1) / (of_params ? d.block : 1) * (d.*stride);
  }
  return at;
}

/// The number of a type that is nearest to a value.
inline float rounded(Element type, float value) {
  return float_value(type, encode_float(traits(type).format, value));
}

/// The float32 scale that Parameters make of a stored one.
inline float scale_by_definition(const Plan& plan, const Tensors& t, int64_t i) {
  const Parameters& p = plan.parameters;
  const uint32_t code = code_at(plan.scale, t.scale, i);
  float scale = float_value(plan.scale, code);
  if (p.infinite_e8m0) {
    scale = code == 255 ? std::numeric_limits<float>::infinity()
                        : std::ldexp(1.0F, static_cast<int>(code) - 127);
  }
  if (p.reciprocal_scale) scale = 1.0F / scale;
  if (p.tensor_scale != TensorScale::none) {
    const float tensor_scale = float_of(code_at(Element::float32, t.tensor_scale, 0));
    scale = p.tensor_scale == TensorScale::multiply ? scale * tensor_scale : scale / tensor_scale;
  }
  return p.scale_rounding ? rounded(*p.scale_rounding, scale) : scale;
}

/// The stored integer zero points after whole words have got the offset, if they do.
inline Bytes carried(const Plan& plan, const Bytes& zero_points) {
  if (plan.parameters.zero_point_overflow != ZeroPointOverflow::carry) return zero_points;
  Bytes out = zero_points;
  uint32_t of_word = 0;
  for (int at = 0; at < 32; at += bits(zero_point_element(plan))) {
    of_word += static_cast<uint32_t>(plan.parameters.zero_point_offset) << at;
  }
  out.resize((out.size() + 3) / 4 * 4);
  for (size_t i = 0; i < out.size(); i += 4) {
    uint32_t word = 0;
    std::memcpy(&word, out.data() + i, 4);
    word += of_word;
    std::memcpy(out.data() + i, &word, 4);
  }
  return out;
}

/// The integer zero point that Parameters make of a stored one.
inline int64_t zero_by_definition(const Plan& plan, uint32_t stored) {
  const Parameters& p = plan.parameters;
  const Element element = zero_point_element(plan);
  int64_t zero = integer_value(element, stored);
  if (p.zero_point_overflow == ZeroPointOverflow::keep) zero += p.zero_point_offset;
  if (p.zero_point_overflow != ZeroPointOverflow::wrap) return zero;
  const int width = is_packed_by(p.zero_point_packing) ? p.zero_point_packing.bits : bits(element);
  const int64_t codes = int64_t{1} << width;
  zero = ((zero + p.zero_point_offset) % codes + codes) % codes;
  return kind(element) == Kind::signed_integer && zero >= codes / 2 ? zero - codes : zero;
}

/// x, less its zero point where that is subtracted before the product.
inline float difference_by_definition(const Plan& plan, const Tensors& t, uint32_t code,
                                      uint32_t zero) {
  const Parameters& p = plan.parameters;
  if (p.codebook) return float_of(code_at(Element::float32, t.codebook, code));
  if (kind(plan.input) == Kind::floating) return float_value(plan.input, code);
  const int64_t x = integer_value(plan.input, code);
  if (!plan.has_zero_point) return static_cast<float>(x - plan.implicit_zero_point);
  if (p.zero_point_role != ZeroPointRole::subtract_before) return static_cast<float>(x);
  const Element element = zero_point_element(plan);
  if (kind(element) != Kind::floating) {
    return static_cast<float>(x - zero_by_definition(plan, zero));
  }
  return rounded(element, static_cast<float>(x) - float_value(element, zero));
}

/// One result; the zero points are carried().
inline uint32_t result_by_definition(const Plan& plan, const Tensors& t, const Bytes& zero_points,
                                     int64_t x, int64_t scale, int64_t zero_point) {
  const Parameters& p = plan.parameters;
  const uint32_t code = code_at(plan.input, p.x_packing, t.x, x);
  const Element element = zero_point_element(plan);
  const uint32_t zero =
      plan.has_zero_point ? code_at(element, p.zero_point_packing, zero_points, zero_point) : 0;
  float y = difference_by_definition(plan, t, code, zero);
  y = y * scale_by_definition(plan, t, scale);
  if (p.result_factor != 1) y = y * p.result_factor;
  if (p.result_rounding) y = rounded(*p.result_rounding, y);
  if (p.zero_point_role == ZeroPointRole::add_after) y = y + float_value(element, zero);
  if (p.zero_point_role == ZeroPointRole::subtract_after) y = y - float_value(element, zero);
  if (p.result_rounding) y = rounded(*p.result_rounding, y);
  return encode_float(traits(plan.output).format, y);
}

/// The output by the definition: every index in order, every offset computed by itself. Elements
/// outside of the range are as t.y has them.
inline Bytes expected(const Plan& plan, const Dimensions& dimensions, const Tensors& t,
                      Range elements = {0, INT64_MAX}) {
  Bytes y = t.y;
  const Bytes zero_points = carried(plan, t.zero_point);
  int64_t count = 1;
  for (const Dimension& d : dimensions) count *= d.size;
  const size_t size = bytes_for(plan.output, 1);
  std::array<int64_t, kMaxDimensions> index{};
  for (int64_t i = elements.begin; i < std::min(count, elements.end); ++i) {
    int64_t rest = i;
    for (size_t d = dimensions.size(); d-- > 0; rest /= dimensions[d].size) {
      index[d] = rest % dimensions[d].size;
    }
    const auto offset = [&](int64_t Dimension::*stride) {
      const bool of_params = stride == &Dimension::scale || stride == &Dimension::zero_point;
      int64_t at = start(dimensions, stride);
      for (size_t d = 0; d < dimensions.size(); ++d) {
        at += index[d] / (of_params ? dimensions[d].block : 1) * (dimensions[d].*stride);
      }
      return at;
    };
    int64_t scale = offset(&Dimension::scale);
    int64_t zero = offset(&Dimension::zero_point);
    if (const GroupIndex& g = plan.parameters.group_index; g.groups != 0) {
      const int64_t group = code_at(Element::int32, t.group_index, offset(&Dimension::group_index));
      scale += group * g.scale;
      zero += group * g.zero_point;
    }
    const uint32_t code =
        result_by_definition(plan, t, zero_points, offset(&Dimension::x), scale, zero);
    std::memcpy(y.data() + static_cast<size_t>(offset(&Dimension::y)) * size, &code, size);
  }
  return y;
}

inline Plan random_strided_types(Random& random) {
  const Types types = random_types(random);
  Plan plan{.input = types.x, .scale = types.scale, .output = types.y};
  plan.has_zero_point = types.zero_point;
  if (!types.zero_point && kind(types.x) != Kind::floating) {
    const bool is_signed = kind(types.x) == Kind::signed_integer;
    plan.implicit_zero_point =
        static_cast<int32_t>(random.in(is_signed ? -2 : 0, is_signed ? 1 : 3));
  }
  return plan;
}

}  // namespace dequant::testing
