// QuantizeLinear of constants: reading its node, and its arithmetic. docs/numerics.md has every
// rounding.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

/// The attributes and types of a QuantizeLinear node.
struct QuantizeNode {
  /// The plan of the DequantizeLinear with the same parameters: x of the node has the type
  /// plan.output, y the type plan.input.
  Plan plan;
  std::optional<int64_t> axis;  ///< counted from the front; none if per tensor
  bool saturate = true;
  /// The type in which x is divided by the scale, where that is not float32 and implementations
  /// agree.
  std::optional<Element> division;
  /// A type in which some implementations divide and others do not.
  std::optional<Element> doubtful_division;
};

/// Reads a node with inputs of these types. Fails with invalid_argument where the specification
/// does not allow the node, and with unsupported where dequant does not.
Result<QuantizeNode> plan_quantize(const Graph& graph, const Node& node, const TensorType& x,
                                   const TensorType& scale,
                                   const std::optional<TensorType>& zero_point);

/// Rounds a quotient to the nearest code of a type, ties to even, saturated. For integer types it
/// adds the zero point after rounding, for floats before.
class Rounder {
 public:
  explicit Rounder(Element element);

  uint32_t operator()(float quotient, float zero_point) const {
    return integer_ ? integer(quotient, zero_point) : floating(quotient + zero_point);
  }

  /// The largest finite number of the type.
  double largest() const { return largest_; }

 private:
  uint32_t integer(float quotient, float zero_point) const;
  uint32_t floating(float number) const;

  bool integer_ = true;
  float lowest_ = 0;
  double largest_ = 0;
  uint32_t mask_ = 0;
  // Only for float types:
  uint32_t sign_ = 0;
  bool negative_zero_ = false;
  uint32_t nan_ = 0;
  std::vector<double> values_;  ///< of the finite codes without sign, in ascending order
};

/// Quantizes a range of the elements of a tensor. As for run_range(), the buffers of x, scales,
/// zero points and codes have just the elements that the range needs.
class Quantizer {
 public:
  /// Divides in the type `division`, without one in float32.
  Quantizer(const Plan& plan, std::optional<Element> division)
      : plan_(plan), division_(division), round_(plan.input) {}

  /// Fills `codes`.
  void run(Range elements, std::span<const std::byte> x, std::span<const std::byte> scale,
           std::span<const std::byte> zero_point, std::span<std::byte> codes) const;

  /// Why other implementations may compute other codes than run(); empty where all must agree.
  std::string doubt(const QuantizeNode& node, Range elements, std::span<const std::byte> x,
                    std::span<const std::byte> scale, std::span<const std::byte> zero_point) const;

 private:
  template <class Visit>
  void visit(Range elements, std::span<const std::byte> x, std::span<const std::byte> scale,
             std::span<const std::byte> zero_point, Visit&& visit) const;

  float quotient(float value, float scale) const;

  Plan plan_;
  std::optional<Element> division_;
  Rounder round_;
};

}  // namespace dequant::format::onnx
