// DequantizeLinear of all versions: a row of data has what a version allows, and one function has
// the checks.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant {

/// A set of elements, as bits.
class ElementSet {
 public:
  constexpr ElementSet(std::initializer_list<Element> list) {
    for (const Element e : list) bits_ |= bit(e);
  }
  constexpr ElementSet operator|(ElementSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  /// False for numbers that are no element.
  constexpr bool contains(Element e) const {
    return static_cast<uint32_t>(e) < 32 && (bits_ & bit(e)) != 0;
  }

 private:
  static constexpr uint32_t bit(Element e) { return uint32_t{1} << static_cast<uint32_t>(e); }
  uint32_t bits_ = 0;
};

/// The rules of one version of a DequantizeLinear.
struct LinearVersion {
  std::string_view name;  ///< for messages, as in the specification
  int64_t since;
  ElementSet x;
  ElementSet scale;
  bool has_axis;
  bool has_block_size;
  bool has_output_dtype;
};

/// A node of any version.
struct LinearNode {
  TensorType x;
  TensorType scale;
  std::optional<TensorType> zero_point;
  std::optional<int64_t> axis;
  std::optional<int64_t> block_size;
  std::optional<int64_t> output_dtype;
};

/// Checks a node against its version and returns the plan. Fails with invalid_argument or
/// unsupported.
Result<Plan> plan_linear(const LinearVersion& version, const LinearNode& node);

}  // namespace dequant
