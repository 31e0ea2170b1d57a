// One node of TensorFlow's Dequantize, and the case that it becomes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/vectors/collect.h"
#include "conformance/vectors/values.h"
#include "dequant/tensorflow.h"

namespace dequant::conformance::vectors {

inline constexpr Element kTensorflowTypes[]{Element::uint8, Element::int8, Element::uint16,
                                            Element::int16, Element::int32};

/// Ranges as bit patterns of float32.
struct RangePair {
  std::string_view name;
  uint32_t min;
  uint32_t max;
};

/// min = max, min > max, zeros, subnormals, infinities, NaNs, widths that overflow, and plain ones.
const std::vector<RangePair>& range_pairs();

struct TensorflowNode {
  Element x = Element::uint8;
  tensorflow::Mode mode = tensorflow::Mode::min_combined;
  Element dtype = Element::float32;
  bool narrow_range = false;
  bool documented = false;
  std::optional<int64_t> axis = {};
};

/// "quint8/MIN_FIRST/float32", with more where the node has more.
std::string title(const TensorflowNode& node);

/// The case with all attributes that differ from their defaults, mode always, but no inputs yet.
Case tensorflow_case(const Collector& out, std::string name, const TensorflowNode& node);

/// x by TensorFlow's name of its type.
CaseTensor quantized(CaseTensor x);

CaseTensor ranges(Sizes shape, const Codes& bits);

/// qint32 codes that TensorFlow's own cast from float leaves undefined in some modes.
bool is_undefined_cast(uint64_t code);

}  // namespace dequant::conformance::vectors
