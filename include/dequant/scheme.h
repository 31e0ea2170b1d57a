// Schemes: how producers of quantized checkpoints store one dense tensor in several tensors. Each
// scheme is a dialect with a header of its own; this header names all of them, for callers that
// learn from a file which scheme its tensors have.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dequant/plan.h"
#include "dequant/tensor.h"

namespace dequant {

/// A stored tensor, by the name that its scheme gives it: {"qweight", {Element::int32, {64, 256}}}.
struct SchemeTensor {
  std::string_view name;
  TensorType type;
};

/// An option of a scheme as text: {"bits", "4"}, {"block", "128,128"}.
struct SchemeOption {
  std::string_view name;
  std::string_view value;
};

/// One dense tensor. Everything is borrowed: it must live until plan_scheme() returns.
struct SchemeNode {
  std::string_view scheme;                ///< the name of a scheme: "gptq"
  std::span<const SchemeTensor> tensors;  ///< in any order
  std::span<const SchemeOption> options = {};
  Element output = Element::float32;
  /// The dense tensor is the transpose of the matrix that the scheme stores, as the weights of
  /// transformers' class Conv1D are, which producers quantize as [out, in].
  bool transposed = false;
};

/// The plan of a dense tensor, its shape, and which stored tensor is which input of the plan: an
/// index of SchemeNode::tensors, or nothing where the plan has no such input.
struct SchemePlan {
  Plan plan;
  std::vector<int64_t> shape;
  size_t x = 0;
  std::optional<size_t> scale = {};
  std::optional<size_t> zero_point = {};
  std::optional<size_t> tensor_scale = {};
  std::optional<size_t> group_index = {};
  std::optional<size_t> codebook = {};
  /// The codebook of a scheme that fixes the value of each code; else empty.
  std::span<const float> values = {};
  BufferNames names = {};  ///< for Buffers: of the inputs, as the scheme calls them
};

/// A tensor of a scheme, for listings and for callers that check names.
struct SchemeInput {
  std::string_view name;
  bool required = true;
  std::string_view what;  ///< types and shape, in words
};

/// An option of a scheme.
struct SchemeSetting {
  std::string_view name;
  std::string_view what;  ///< its values, and which one is the default
};

/// One scheme. All texts are literals.
struct Scheme {
  std::string_view name;
  std::string_view producers;  ///< "GPTQModel, AutoGPTQ"
  std::span<const SchemeInput> inputs;
  std::span<const SchemeSetting> settings;
};

/// All schemes, in the order of their names.
DEQUANT_EXPORT std::span<const Scheme> schemes() noexcept;

/// Checks the tensors against the scheme and returns the plan, as the scheme's own function does:
/// its header says what it demands. Fails with invalid_argument for a name that is no scheme,
/// tensor or option, for a missing tensor, for a transpose of what is no matrix, and as that
/// function does; with unsupported for a transpose where a scale is of parts of several rows.
DEQUANT_EXPORT Result<SchemePlan> plan_scheme(const SchemeNode& node);

}  // namespace dequant
