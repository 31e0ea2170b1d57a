// A recipe with its stored tensors in memory, and the recipes that known mistakes make of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "format/model/model_file.h"

namespace dequant::format {

/// A plan and its inputs.
struct RecipeData {
  Plan plan;
  std::vector<std::byte> x;
  std::vector<std::byte> scale;
  std::vector<std::byte> zero_point;
  std::vector<std::byte> tensor_scale;
  std::vector<std::byte> group_index;
  std::vector<std::byte> codebook;

  /// Reads the stored tensors. Fails with limit where they need more than `memory` bytes.
  static Result<RecipeData> read(ModelFile& file, const DenseTensor& tensor, int64_t memory);

  /// The results of these elements in a float type, packed. Fails as run_range() does.
  Result<std::vector<std::byte>> compute(Range elements, Element output) const;

  /// Every stored scale as float32, the tensor scale applied.
  std::vector<float> scales() const;
};

/// Called with the key of a mistake and the recipe that has it.
using VariantVisitor = std::function<Status(std::string_view key, const RecipeData& wrong)>;

/// Calls the visitor for each mistake that is a change of the plan or of its inputs, where the
/// recipe has what the mistake is about.
Status for_each_variant(const RecipeData& right, const VariantVisitor& visitor);

/// Numbers rounded to a float type, packed.
std::vector<std::byte> rounded(const std::vector<float>& numbers, Element element);

}  // namespace dequant::format
