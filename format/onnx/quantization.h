// A QuantizeLinear of constants: what its node says, and its arithmetic. docs/numerics.md has every
// rounding.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/onnx/dequantization.h"

namespace dequant::format::onnx {

/// What a QuantizeLinear node says.
struct QuantizeNode {
  /// That of the DequantizeLinear with the same parameters: x has the type plan.output, y
  /// plan.input.
  Plan plan;
  std::optional<int64_t> axis;  ///< from the front; none if per tensor
  bool saturate = true;
  /// In which the specification has the division made, where that is not float32.
  std::optional<Element> precision;
};

/// Fails with invalid_argument or unsupported where the specification, or dequant, has no such
/// node.
Result<QuantizeNode> plan_quantize(const Graph& graph, const Node& node, const TensorType& x,
                                   const TensorType& scale,
                                   const std::optional<TensorType>& zero_point);

/// The code nearest to a quotient, ties to even, saturated; after the zero point was added, of an
/// integer type.
class Rounder {
 public:
  explicit Rounder(Element element);

  uint32_t operator()(float quotient, float zero_point) const {
    return integer_ ? integer(quotient, zero_point) : floating(quotient);
  }

  /// The largest finite number of the type.
  double largest() const { return largest_; }

 private:
  uint32_t integer(float quotient, float zero_point) const;
  uint32_t floating(float quotient) const;

  bool integer_ = true;
  float lowest_ = 0;
  double largest_ = 0;
  uint32_t mask_ = 0;
  // Of a float type:
  uint32_t sign_ = 0;
  bool negative_zero_ = false;
  uint32_t nan_ = 0;
  std::vector<double> values_;  ///< of the finite codes that are not negative, ascending
};

/// Quantizes a range of the elements of a tensor. The buffers of x, scales, zero points and codes
/// hold just that range, as the buffers of run_range() do.
class Quantizer {
 public:
  explicit Quantizer(const Plan& plan) : plan_(plan), round_(plan.input) {}

  void run(Range elements, std::span<const std::byte> x, std::span<const std::byte> scale,
           std::span<const std::byte> zero_point, std::span<std::byte> codes) const;

  /// Why implementations may give other codes than run(); empty where all give the same.
  std::string doubt(const QuantizeNode& node, Range elements, std::span<const std::byte> x,
                    std::span<const std::byte> scale, std::span<const std::byte> zero_point) const;

 private:
  template <class Visit>
  void visit(Range elements, std::span<const std::byte> x, std::span<const std::byte> scale,
             std::span<const std::byte> zero_point, Visit&& visit) const;

  Plan plan_;
  Rounder round_;
};

}  // namespace dequant::format::onnx
