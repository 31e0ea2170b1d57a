// What a model file is made of to everybody but its format: tensors that it stores, dense tensors
// that these make, and what stays quantized.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "dequant/plan.h"
#include "dequant/tensor.h"
#include "format/profile/parameters.h"

namespace dequant::format {

/// Where the packed bytes of a stored tensor lie as they are.
struct Location {
  std::string_view file;  ///< relative to the folder of the model file; empty: the model file
  int64_t offset = 0;
  int64_t length = 0;
};

/// A tensor as a file stores it. What it refers to lives as long as the DenseTensor or the call
/// that it came with.
struct StoredTensor {
  std::string_view name;  ///< empty where the file gives it none
  TensorType type;
  int64_t bytes = 0;  ///< that it takes in files, with those of what it is computed from
  std::optional<Location> location;  ///< none: in memory, or decoded or computed while it is read
  const void* identity = nullptr;    ///< the same for all that are read from one place
  const void* origin = nullptr;      ///< by which its format opens it
};

/// Told what a stored tensor is computed from: identity, and bytes in files.
using SourceVisitor = std::function<void(const void* identity, int64_t bytes)>;

/// How a dense tensor is computed from stored ones.
struct Recipe {
  Plan plan;
  std::optional<int64_t> axis;  ///< along which scales change, from the front; none: one scale
  StoredTensor scale;
  std::optional<StoredTensor> zero_point;
};

/// What people call a tensor, and where it comes from. Texts are as the file has them, valid as
/// long as it is open.
struct TensorFacts {
  std::string_view name;    ///< of the dense tensor
  std::string_view source;  ///< of its codes, where they are dequantized
  std::string_view node;    ///< that dequantizes it, in files that have nodes
  std::string_view graph;   ///< of the file, where that has several; empty: the main one
  std::string_view scheme;  ///< the specification of the recipe: a domain, "gptq", a block type
  std::optional<int64_t> version;  ///< of the scheme
  /// That the tensor had before it was quantized, where the names above tell it.
  std::string_view original;
};

/// A tensor of a float model: computed by a recipe, or copied as it is stored. Copies are valid as
/// long as the model file is open.
struct DenseTensor : TensorFacts {
  Shape shape;
  StoredTensor stored;           ///< the codes; without a recipe the tensor itself
  std::optional<Recipe> recipe;  ///< none: copied
  bool shared = false;  ///< other tensors may be computed from the very same stored tensors
  std::shared_ptr<const void> origin;  ///< holds what the stored tensors refer to

  /// Its float type, which a caller may change in the plan of a copy, and its shape.
  TensorType type() const { return {recipe ? recipe->plan.output : stored.type.element, shape}; }
  /// Bytes of all stored tensors that it takes.
  int64_t stored_bytes() const {
    if (!recipe) return stored.bytes;
    return stored.bytes + recipe->scale.bytes +
           (recipe->zero_point ? recipe->zero_point->bytes : 0);
  }
};

/// A tensor that stays quantized. Valid during the call that it came with.
struct LeftTensor : TensorFacts {
  std::string reason;
  /// Reads its scales and zero points, where these are known though its codes are not: nothing
  /// where they are not known either. May be null.
  std::function<Result<std::optional<Parameters>>()> parameters;
};

/// Who reads a stored tensor.
struct TensorReaderFacts {
  std::string_view node;
  std::string_view op_type;
  std::string_view domain;
  size_t input = 0;  ///< which of its inputs
};

/// A stored tensor of a quantized type that is nobody's codes or zero point. Valid during the call
/// that it came with.
struct OtherTensor {
  std::string_view name;
  std::string_view graph;  ///< as of TensorFacts
  StoredTensor stored;
  /// Calls the function for each of its readers: there may be very many.
  std::function<void(const std::function<void(const TensorReaderFacts&)>&)> visit_readers;
};

}  // namespace dequant::format
