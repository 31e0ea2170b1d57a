// A node of TensorFlow's Dequantize, and its case.
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

/// Ordinary ranges, min = max, min > max, zeros, subnormals, infinities, NaNs, and widths that
/// overflow.
const std::vector<RangePair>& range_pairs();

/// Types and attributes of a node.
struct TensorflowNode {
  Element x = Element::uint8;
  tensorflow::Mode mode = tensorflow::Mode::min_combined;
  Element dtype = Element::float32;
  bool narrow_range = false;
  bool documented = false;
  std::optional<int64_t> axis = {};
};

/// "quint8/MIN_FIRST/float32", followed by further attributes that the node has.
std::string title(const TensorflowNode& node);

/// A case without inputs. It has mode and all attributes that differ from their defaults.
Case tensorflow_case(const Collector& out, std::string name, const TensorflowNode& node);

/// x with TensorFlow's name of its type.
CaseTensor quantized(CaseTensor x);

/// A float32 tensor of ranges.
CaseTensor ranges(Sizes shape, const Codes& bits);

/// True for qint32 codes for which TensorFlow casts a float that the integer type cannot hold,
/// which is undefined.
bool is_undefined_cast(uint64_t code);

}  // namespace dequant::conformance::vectors
