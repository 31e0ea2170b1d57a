// The tensors of a model file, whatever its format: stored tensors, dense tensors that are computed
// from stored ones, and tensors that stay quantized.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "format/profile/parameters.h"

namespace dequant::format {

class InputFile;

/// A shape that others own, longer than a call. Not one of a temporary vector, which would dangle.
struct BorrowedShape : Shape {
  BorrowedShape() = default;
  template <class Sizes>
  requires std::is_lvalue_reference_v<Sizes> || std::ranges::borrowed_range<Sizes> BorrowedShape(
      Sizes&& sizes)
      : Shape(sizes) {}
};

/// A range of a file that holds the packed bytes of a stored tensor, in no further encoding.
struct Location {
  std::string_view file;  ///< relative to the folder of the model file; empty: the model file
  int64_t offset = 0;
  int64_t length = 0;
};

/// A tensor as a file stores it. Its texts, shape and pointers are valid as long as the DenseTensor
/// that contains it, or during the call that passes it.
struct StoredTensor {
  std::string_view name;  ///< empty where the file gives it none
  TensorType type;
  int64_t bytes = 0;  ///< in files, of this tensor and of the tensors it is computed from
  std::optional<Location> location;  ///< none: in memory, or decoded or computed on reading
  const void* identity = nullptr;    ///< equal for tensors that are read from the same bytes
  const void* origin = nullptr;      ///< only for its format, which opens it by this
};

/// Called for a tensor from which a stored tensor is computed: its identity, its bytes in files.
using SourceVisitor = std::function<void(const void* identity, int64_t bytes)>;

/// The plan of an output type: one of `variants`, or else the same plan with that output.
inline Plan plan_for(const Plan& plan, std::span<const Plan> variants, Element output) {
  for (const Plan& variant : variants) {
    if (variant.output == output) return variant;
  }
  Plan out = plan;
  out.output = output;
  return out;
}

/// How a dense tensor is computed from stored ones.
struct Recipe {
  Plan plan;
  std::optional<int64_t> axis;  ///< from the front, along which scales change; none: one scale
  std::optional<StoredTensor> scale;  ///< none: the scales are in blocks, beside the codes
  std::optional<StoredTensor> zero_point;
  std::optional<StoredTensor> tensor_scale = {};  ///< float32: the second scales of the plan
  std::optional<StoredTensor> group_index = {};   ///< int32
  std::optional<StoredTensor> codebook = {};      ///< float32: the values of codes
  /// The plans of all output types, where the arithmetic depends on the type; empty: only
  /// Plan::output differs.
  std::span<const Plan> variants = {};
  /// The file has no scale: that of the plan is 1.
  bool codes_are_values = false;

  /// The plan becomes that of another output type.
  void set_output(Element output) { plan = plan_for(plan, variants, output); }

  /// Calls visit(const StoredTensor&) for the stored tensors other than the codes.
  template <class Visit>
  void for_each_parameter(Visit visit) const {
    for (const auto* parameter : {&scale, &zero_point, &tensor_scale, &group_index, &codebook}) {
      if (*parameter) visit(**parameter);
    }
  }
};

/// The names of a tensor. Texts are those of the file, and valid as long as the file is open.
struct TensorFacts {
  std::string_view name;    ///< of the dense tensor
  std::string_view source;  ///< the name of its codes, if it has codes
  std::string_view node;    ///< the name of the node that dequantizes it, in formats with nodes
  std::string_view graph;   ///< the name of its graph in the file; empty: the main graph
  std::string_view scheme;  ///< the specification of the recipe: a domain, "gptq", a block type
  std::optional<int64_t> version;  ///< of the scheme
  /// The name that the tensor had before it was quantized, where the names above show it.
  std::string_view original;
  std::string_view op_type = {};  ///< the operator of the node, in formats with nodes
};

/// A tensor of the float model: computed by a recipe, or copied as it is stored. Copies of this
/// struct are valid as long as the model file is open.
struct DenseTensor : TensorFacts {
  BorrowedShape shape;
  StoredTensor stored;           ///< the codes; without a recipe the tensor itself
  std::optional<Recipe> recipe;  ///< none: the tensor is copied
  bool shared = false;           ///< other tensors may be computed from the same stored tensors
  bool inner = false;  ///< only quantizations of other tensors read it, perhaps as a scale
  std::shared_ptr<const void> origin;  ///< owns the texts and shapes of the stored tensors

  /// Its float type and its shape. The caller of a copy may change the float type:
  /// Recipe::set_output().
  TensorType type() const { return {recipe ? recipe->plan.output : stored.type.element, shape}; }
  /// Bytes of all its stored tensors in files.
  int64_t stored_bytes() const {
    int64_t sum = stored.bytes;
    if (recipe) recipe->for_each_parameter([&](const StoredTensor& t) { sum += t.bytes; });
    return sum;
  }
};

/// A tensor that stays quantized. Valid during the call that passes it.
struct LeftTensor : TensorFacts {
  std::string reason;
  /// Reads its scales and zero points where the file has them, though the codes are computed by the
  /// model. Returns nothing where the model computes them too. May be null.
  std::function<Result<std::optional<Parameters>>()> parameters;
  /// Of the stored tensor, as RestTensor has them; without a type where the format does not say.
  std::string_view type = {};
  BorrowedShape shape = {};
  int64_t bytes = 0;  ///< 0: the model computes it
  /// The file has its data, in a way that dequant does not read: a float model that other programs
  /// make has a tensor of this name.
  bool unread = false;
};

/// A stored tensor that is no part of a dense tensor that a recipe computes. Valid during the call
/// that passes it.
struct RestTensor {
  std::string_view name;
  std::string_view type;  ///< as the format spells it: "BF16"
  BorrowedShape shape;
  int64_t bytes = 0;
  std::string_view dropped;  ///< why the float model does not have it; empty: it is copied
  Location location = {};
  int bits = 0;                      ///< of an element
  const InputFile* input = nullptr;  ///< the file of `location`, open as long as the model file
};

/// A node that reads a stored tensor.
struct TensorReaderFacts {
  std::string_view node;
  std::string_view op_type;
  std::string_view domain;
  size_t input = 0;  ///< the index of the input
};

/// A stored tensor of a quantized type that is neither the codes nor the zero point of another
/// tensor. Valid during the call that passes it.
struct OtherTensor {
  std::string_view name;
  std::string_view graph;  ///< as in TensorFacts
  StoredTensor stored;
  /// Calls the function for each node that reads it: there may be very many.
  std::function<void(const std::function<void(const TensorReaderFacts&)>&)> visit_readers;
};

}  // namespace dequant::format
