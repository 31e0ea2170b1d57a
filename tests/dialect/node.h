// Nodes that own their shapes, for tables of cases; and what every case checks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "dequant/onnx.h"
#include "support/expect_error.h"
#include "support/spec_index.h"

namespace dequant::testing {

/// Up to nine dimensions, without an allocation.
class Fixed {
 public:
  Fixed() = default;
  Fixed(std::initializer_list<int64_t> dims) : rank_(dims.size()) {  // NOLINT: implicit
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }
  Fixed(const Dims& dims) : rank_(dims.size()) {  // NOLINT: implicit
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }
  operator Shape() const { return {dims_.data(), rank_}; }  // NOLINT: implicit

 private:
  std::array<int64_t, 9> dims_{};
  size_t rank_ = 0;
};

struct Type {
  Element element = Element::float32;
  Fixed shape = {};
};

/// An onnx::DequantizeLinear; by default int8[2, 3, 4] with one float32 scale.
struct Node {
  int64_t opset = 25;
  Type x = {Element::int8, {2, 3, 4}};
  Type scale = {Element::float32, {}};
  std::optional<Type> zero = {};
  std::optional<int64_t> axis = {};
  std::optional<int64_t> block_size = {};
  std::optional<int64_t> output_dtype = {};

  /// Borrows the shapes of this node.
  onnx::DequantizeLinear view() const {
    onnx::DequantizeLinear node;
    node.opset = opset;
    node.x = {x.element, x.shape};
    node.x_scale = {scale.element, scale.shape};
    if (zero) node.x_zero_point = {zero->element, zero->shape};
    node.axis = axis;
    node.block_size = block_size;
    node.output_dtype = output_dtype;
    return node;
  }
};

inline Result<Plan> plan_of(const Node& node) { return onnx::dequantize_linear(node.view()); }

/// accepts(clause, node, want): the node yields that plan.
template <class Node>
struct Accepts {
  void operator()(const char* clause, const Node& node, const Plan& want) const {
    SCOPED_TRACE(clause);
    const auto plan = plan_of(node);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(*plan, want);
  }
};

/// rejects(clause, node, word): the node is invalid, by a message that has that word. An object
/// for each type of node, as a template of a function would not take nodes in braces.
template <class Node>
struct Rejects {
  void operator()(const char* clause, const Node& node, std::string_view word) const {
    SCOPED_TRACE(clause);
    EXPECT_TRUE(is_invalid(plan_of(node), word));
  }
};

inline constexpr Accepts<Node> accepts;
inline constexpr Rejects<Node> rejects;

/// Every version of the operator.
inline constexpr int64_t kVersions[] = {10, 13, 19, 21, 23, 24, 25, 28};
static_assert(std::ranges::equal(kVersions, onnx::kVersionOpsets));

}  // namespace dequant::testing
