// What a dialect of checkpoints gives to the list of schemes: its description, and a function from
// named tensors and options in text to its own struct.
#pragma once

#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <vector>

#include "dequant/scheme.h"
#include "dialect/checks.h"
#include "text.h"

namespace dequant {

/// The tensors and options of a SchemeNode by name.
class SchemeArguments {
 public:
  explicit SchemeArguments(const SchemeNode& node) : node_(node) {}

  Element output() const { return node_.output; }

  /// The index of a tensor, or nothing.
  std::optional<size_t> index(std::string_view name) const;
  /// The type of a tensor that the scheme requires: plan_scheme() has checked that it is there.
  TensorType type(std::string_view name) const { return node_.tensors[*index(name)].type; }
  /// The type of a tensor, or nothing.
  std::optional<TensorType> optional_type(std::string_view name) const;

  /// An integer, or `otherwise` where the option is not given.
  Result<int64_t> integer(std::string_view option, int64_t otherwise) const;
  /// A list of integers such as "128,128"; empty where the option is not given.
  Result<std::vector<int64_t>> integers(std::string_view option) const;
  /// "true" or "false".
  Result<bool> flag(std::string_view option, bool otherwise) const;
  /// The index of one of `names`, or `otherwise` where the option is not given.
  Result<size_t> one_of(std::string_view option, std::span<const std::string_view> names,
                        size_t otherwise) const;
  /// The text of an option, or nothing.
  std::optional<std::string_view> text(std::string_view option) const;

 private:
  const SchemeNode& node_;
};

/// A plan and the shape of its dense weight.
struct Dense {
  Plan plan;
  std::vector<int64_t> shape;
};

/// A scheme and its function.
struct SchemeEntry {
  Scheme scheme;
  Result<SchemePlan> (*plan)(const SchemeArguments& arguments);
};

// One for each file of a scheme.
extern const SchemeEntry kAwqScheme;
extern const SchemeEntry kBitnetScheme;
extern const SchemeEntry kBitsandbytesScheme;
extern const SchemeEntry kBitsandbytesAbsmaxScheme;
extern const SchemeEntry kBitsandbytesInt8Scheme;
extern const SchemeEntry kCompressedTensorsScheme;
extern const SchemeEntry kFp8Scheme;
extern const SchemeEntry kGgufScheme;
extern const SchemeEntry kGptOssScheme;
extern const SchemeEntry kGptqScheme;
extern const SchemeEntry kHqqScheme;
extern const SchemeEntry kMlxScheme;
extern const SchemeEntry kModelOptScheme;
extern const SchemeEntry kMxScheme;
extern const SchemeEntry kQuantoScheme;
extern const SchemeEntry kQuarkScheme;
extern const SchemeEntry kTorchaoScheme;

}  // namespace dequant
