// Stored scales and zero points: decoded exactly, then the producer's own operations.
#include "execute/parameters.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "element/codes.h"
#include "element/reference.h"
#include "execute/packed_codes.h"
#include "execute/stages.h"
#include "kernel/lut.h"
#include "kernel/targets.h"
#include "plan/packing.h"

namespace dequant {
namespace {

/// Consecutive integers, from index i on, as int32.
void widen(Element x, const std::byte* data, int64_t i, int64_t count, int32_t* out) {
  const int width = bits(x);
  if (width == 32) {
    std::memcpy(out, data + i * 4, static_cast<size_t>(count) * 4);
    return;
  }
  const int unused = kind(x) == Kind::signed_integer ? 32 - width : 0;
  for (; i * width % 8 != 0 && count > 0; ++i, --count) {
    *out++ = static_cast<int32_t>(load_code(width, data, i) << unused) >> unused;
  }
  if (count == 0) return;
  active_table().helpers.widen[static_cast<size_t>(x)](
      reinterpret_cast<const uint8_t*>(data + i * width / 8), static_cast<size_t>(count), out);
}

/// `count` floats of type `scale` as float32, the first at index i, the next at i + stride.
void decode_scales(Element scale, const std::byte* data, int64_t i, int64_t stride, int64_t count,
                   float* out) {
  if (scale == Element::float32 && stride == 1) {
    std::memcpy(out, data + i * 4, static_cast<size_t>(count) * 4);
    return;
  }
  if (bits(scale) == 16 && stride == 1) {
    const Helpers& helpers = active_table().helpers;
    const auto widen = scale == Element::float16 ? helpers.widen_float16 : helpers.widen_bfloat16;
    return widen(reinterpret_cast<const uint8_t*>(data + i * 2), static_cast<size_t>(count), out);
  }
  const FloatFormat format = traits(scale).format;
  if (const float* values = lut_of(scale); values != nullptr && format.bits == 8) {
    for (int64_t k = 0; k < count; ++k) out[k] = values[static_cast<uint8_t>(data[i + k * stride])];
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    out[k] = decode_float(format, load_code(format.bits, data, i + k * stride));
  }
}

/// Zero points of ZeroPointOverflow::carry: the offset is added to 32-bit words.
void load_carried(const Plan& plan, const std::byte* data, int64_t i, int64_t stride, int64_t count,
                  int32_t* out) {
  const Element zero = zero_point_element(plan);
  const int64_t in_word = 32 / bits(zero);
  const auto offset = static_cast<uint32_t>(plan.parameters.zero_point_offset);
  for (int64_t k = 0; k < count; ++k, i += stride) {
    uint32_t word = 0;
    std::memcpy(&word, data + i / in_word * 4, sizeof word);
    out[k] = reference_carried_zero_point(zero, word, static_cast<int>(i % in_word), offset);
  }
}

/// Zero points of a Packing, without their offset.
void load_packed(const Plan& plan, std::span<const std::byte> data, int64_t i, int64_t stride,
                 int64_t count, int32_t* out) {
  constexpr int64_t kBatch = 256;
  const Element zero = zero_point_element(plan);
  const Table& table = active_table();
  const PackedCodes codes(zero, plan.parameters.zero_point_packing, table, data, 0);
  alignas(64) uint8_t bytes[kBatch + Helpers::kUnpackSlack];
  for (int64_t done = 0; done < count; done += kBatch) {
    const int64_t n = std::min(kBatch, count - done);
    codes.unpack(i + done * stride, stride, n, bytes);
    table.helpers.widen[static_cast<size_t>(zero)](bytes, static_cast<size_t>(n), out + done);
  }
}

}  // namespace

bool has_float_zero_points(const Plan& plan) noexcept {
  return plan.parameters.zero_point && kind(*plan.parameters.zero_point) == Kind::floating;
}

bool has_zero_points(const Plan& plan) noexcept {
  return plan.has_zero_point && kind(plan.input) != Kind::floating;
}

bool has_plain_kernels(const Plan& plan) noexcept {
  return !has_stages(plan) && !plan.parameters.codebook;
}

bool scales_are_stored(const Plan& plan) noexcept {
  const Parameters& p = plan.parameters;
  return p.tensor_scale == TensorScale::none && !p.scale_rounding && !p.reciprocal_scale;
}

bool scales_are_of_output(const Plan& plan) noexcept {
  if (plan.parameters.scale_rounding) return *plan.parameters.scale_rounding == plan.output;
  return plan.scale == plan.output && scales_are_stored(plan);
}

bool zero_points_are_stored(const Plan& plan) noexcept {
  const Parameters& p = plan.parameters;
  return !p.zero_point && p.zero_point_offset == 0 && !is_packing(p.zero_point_packing);
}

void finish_scales(const Plan& plan, const Buffers& buffers, int64_t count,
                   float* scales) noexcept {
  if (plan.parameters.infinite_e8m0) {
    // Of float8e8m0 only 255 is no number.
    for (int64_t k = 0; k < count; ++k) {
      if (scales[k] != scales[k]) scales[k] = std::numeric_limits<float>::infinity();
    }
  }
  if (plan.parameters.reciprocal_scale) {
    for (int64_t k = 0; k < count; ++k) scales[k] = 1.0F / scales[k];
  }
  if (plan.parameters.tensor_scale != TensorScale::none) {
    float tensor_scale = 0;
    std::memcpy(&tensor_scale, buffers.tensor_scale.data(), sizeof tensor_scale);
    if (plan.parameters.tensor_scale == TensorScale::multiply) {
      for (int64_t k = 0; k < count; ++k) scales[k] *= tensor_scale;
    } else {
      for (int64_t k = 0; k < count; ++k) scales[k] /= tensor_scale;
    }
  }
  if (!plan.parameters.scale_rounding) return;
  const Helpers& helpers = active_table().helpers;
  const bool float16 = *plan.parameters.scale_rounding == Element::float16;
  const auto round = float16 ? helpers.round_to_float16 : helpers.round_to_bfloat16;
  round(scales, static_cast<size_t>(count));
}

void finish_zeros(const Plan& plan, int64_t count, int32_t* zeros) noexcept {
  const int32_t offset = plan.parameters.zero_point_offset;
  if (offset == 0) return;
  if (plan.parameters.zero_point_overflow == ZeroPointOverflow::keep) {
    for (int64_t k = 0; k < count; ++k) zeros[k] += offset;
    return;
  }
  const Element zero = zero_point_element(plan);
  const Packing& packing = plan.parameters.zero_point_packing;
  const int unused = 32 - (is_packing(packing) ? packing.bits : bits(zero));
  const auto wrapped = [&](int32_t z) { return static_cast<uint32_t>(z + offset) << unused; };
  if (kind(zero) == Kind::signed_integer) {
    for (int64_t k = 0; k < count; ++k)
      zeros[k] = static_cast<int32_t>(wrapped(zeros[k])) >> unused;
  } else {
    for (int64_t k = 0; k < count; ++k)
      zeros[k] = static_cast<int32_t>(wrapped(zeros[k]) >> unused);
  }
}

void load_scales(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                 float* out) noexcept {
  decode_scales(plan.scale, buffers.scale.data(), i, stride, count, out);
  finish_scales(plan, buffers, count, out);
}

void load_zeros(const Plan& plan, const Buffers& buffers, int64_t i, int64_t stride, int64_t count,
                int32_t* out) noexcept {
  // The zero point of a float x is zero, as check_buffers() has seen.
  if (!has_zero_points(plan)) {
    std::fill_n(out, count, plan.implicit_zero_point);
    return;
  }
  const std::byte* data = buffers.zero_point.data();
  const Element zero = zero_point_element(plan);
  if (kind(zero) == Kind::floating) {
    constexpr int64_t kBatch = 256;
    float values[kBatch];
    for (int64_t done = 0; done < count; done += kBatch) {
      const int64_t n = std::min(kBatch, count - done);
      decode_scales(zero, data, i + done * stride, stride, n, values);
      std::memcpy(out + done, values, static_cast<size_t>(n) * sizeof *values);
    }
    return;
  }
  if (plan.parameters.zero_point_overflow == ZeroPointOverflow::carry) {
    return load_carried(plan, data, i, stride, count, out);
  }
  if (is_packing(plan.parameters.zero_point_packing)) {
    load_packed(plan, buffers.zero_point, i, stride, count, out);
  } else if (stride == 1) {
    widen(zero, data, i, count, out);
  } else {
    const int width = bits(zero);
    const int unused = kind(zero) == Kind::signed_integer ? 32 - width : 0;
    for (int64_t k = 0; k < count; ++k) {
      out[k] = static_cast<int32_t>(load_code(width, data, i + k * stride) << unused) >> unused;
    }
  }
  finish_zeros(plan, count, out);
}

}  // namespace dequant
