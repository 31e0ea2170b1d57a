// Quantization parameters of TFLite's tensors, checked by the rules of TFLite's own loader.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

#include "dequant/tensor.h"
#include "format/io/file.h"
#include "format/tflite/model.h"

namespace dequant::format::tflite {

/// The smallest and the largest of some integers; both 0 where there are none.
struct Integers {
  int64_t least = 0;
  int64_t greatest = 0;
};

/// Statistics of numbers of a model, each vector and each tensor computed once: many tensors may
/// share one.
class Statistics {
 public:
  explicit Statistics(const InputFile& file) : file_(file) {}

  Integers of(const Numbers<int64_t>& numbers);
  /// Of integers of `bits` bits, two's complement, lowest byte first. Fails with io.
  Result<Integers> of(const Bytes& data, int bits);
  /// Scales that are NaN, infinite, 0 or negative.
  int64_t special(const Numbers<float>& scales);

 private:
  const InputFile& file_;
  std::unordered_map<int64_t, Integers> vectors_;  ///< by offsets in the file
  /// By offsets, sizes and bits: data of several buffers may begin at one offset.
  std::map<std::tuple<int64_t, int64_t, int>, Integers> data_;
  std::unordered_map<int64_t, int64_t> special_;
};

/// Scales in QuantizationParameters.
struct Affine {
  std::optional<size_t> axis;    ///< along which scales change; none: one scale
  bool has_zero_points = false;  ///< some are not 0
  std::string warning;           ///< empty: there is none
};

/// True where a scale is NaN, infinite, 0 or negative.
bool is_special(float scale);

/// A sentence with the number of a tensor's scales for which is_special() is true.
std::string special_text(int64_t special, int64_t scales);

/// True where a tensor has scales, in QuantizationParameters or by its details. Zero points without
/// scales are nothing to TFLite.
bool is_quantized(const Quantization& q);

/// Checks the scales, of which there are some, and the zero points of a tensor whose codes are
/// integers of `bits` bits. Fails with malformed where their numbers, the dimension or the range of
/// zero points are wrong; with unsupported for zero points of 32 and 64 bits that are not 0.
Result<Affine> check_affine(const Quantization& q, Shape shape, int bits, bool is_signed,
                            Statistics& statistics);

}  // namespace dequant::format::tflite
