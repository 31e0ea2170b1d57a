// Quantization parameters of TFLite's tensors, checked.
#include "format/tflite/quantization.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/io/errors.h"
#include "format/tflite/field_numbers.h"

namespace dequant::format::tflite {
namespace {

void add(Integers& sum, int64_t number, bool first) {
  sum.least = first ? number : std::min(sum.least, number);
  sum.greatest = first ? number : std::max(sum.greatest, number);
}

/// Adds the integers of some bytes.
template <class T>
void add_all(Integers& sum, std::span<const std::byte> bytes, bool first) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T number = 0;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    add(sum, number, first && at == 0);
  }
}

/// The axis of the scales; none for one scale.
Result<std::optional<size_t>> axis_of(const Quantization& q, Shape shape, std::string& warning) {
  const auto rank = static_cast<int64_t>(shape.size());
  const size_t scales = q.scale.size();
  int64_t axis = q.dimension;
  if (rank > 0 && (axis < 0 || axis >= rank)) {
    // Biases of older converters have the dimension of their weights.
    if (rank != 1 || scales != static_cast<size_t>(shape[0])) {
      return failure(ErrorCode::malformed, "quantized_dimension {} of a tensor of rank {}", axis,
                     rank);
    }
    warning = fmt::format("quantized_dimension {} of a tensor of rank 1 is read as 0", axis);
    axis = 0;
  }
  if (scales == 1) return std::optional<size_t>();
  if (rank == 0 || scales != static_cast<size_t>(shape[static_cast<size_t>(axis)])) {
    return failure(ErrorCode::malformed, "{} scales for {} indices of dimension {}", scales,
                   rank == 0 ? 1 : shape[static_cast<size_t>(axis)], axis);
  }
  return std::optional(static_cast<size_t>(axis));
}

}  // namespace

Integers Statistics::of(const Numbers<int64_t>& numbers) {
  const auto [found, is_new] = vectors_.try_emplace(numbers.offset());
  if (is_new) {
    for (size_t i = 0; i < numbers.size(); ++i) add(found->second, numbers[i], i == 0);
  }
  return found->second;
}

Result<Integers> Statistics::of(const Bytes& data, int bits) {
  const std::tuple key(data.offset, data.size, bits);
  if (const auto found = data_.find(key); found != data_.end()) return found->second;
  bool first = true;
  Integers sum;
  DEQUANT_CHECK(read_in_parts(file_, data.offset, data.size, [&](std::span<const std::byte> part) {
    bits == 64   ? add_all<int64_t>(sum, part, first)
    : bits == 32 ? add_all<int32_t>(sum, part, first)
    : bits == 16 ? add_all<int16_t>(sum, part, first)
                 : add_all<int8_t>(sum, part, first);
    first = false;
    return Status();
  }));
  return data_[key] = sum;
}

int64_t Statistics::special(const Numbers<float>& scales) {
  const auto [found, is_new] = special_.try_emplace(scales.offset());
  for (size_t i = 0; is_new && i < scales.size(); ++i)
    found->second += is_special(scales[i]) ? 1 : 0;
  return found->second;
}

bool is_special(float scale) { return !std::isfinite(scale) || scale <= 0; }

std::string special_text(int64_t special, int64_t scales) {
  return fmt::format("{} of its {} scales are NaN, infinite, 0 or negative", special, scales);
}

bool is_quantized(const Quantization& q) {
  return !q.scale.empty() || q.details != field::details::none;
}

Result<Affine> check_affine(const Quantization& q, Shape shape, int bits, bool is_signed,
                            Statistics& statistics) {
  Affine affine;
  const bool is_bias = bits >= 32;
  if (q.zero_point.empty() && !is_bias)
    return failure(ErrorCode::malformed, "scales without zero points");
  if (q.zero_point.size() != q.scale.size() && !q.zero_point.empty()) {
    return failure(ErrorCode::malformed, "{} zero points for {} scales", q.zero_point.size(),
                   q.scale.size());
  }
  DEQUANT_TRY(affine.axis, axis_of(q, shape, affine.warning));
  const Integers zero = statistics.of(q.zero_point);
  affine.has_zero_points = zero.least != 0 || zero.greatest != 0;
  if (affine.has_zero_points && is_bias) {
    return failure(ErrorCode::unsupported,
                   "zero points of {} to {} for codes of {} bits, which no operator of TFLite has",
                   zero.least, zero.greatest, bits);
  }
  const int64_t lowest = is_bias || !is_signed ? 0 : -(int64_t{1} << (bits - 1));
  const int64_t codes = is_bias ? 1 : int64_t{1} << bits;
  if (zero.least < lowest || zero.greatest >= lowest + codes) {
    return failure(ErrorCode::malformed, "a zero point of {}, where codes are {} to {}",
                   zero.least < lowest ? zero.least : zero.greatest, lowest, lowest + codes - 1);
  }
  if (const int64_t special = statistics.special(q.scale); special > 0) {
    if (!affine.warning.empty()) affine.warning += "; ";
    affine.warning += special_text(special, static_cast<int64_t>(q.scale.size()));
  }
  return affine;
}

}  // namespace dequant::format::tflite
