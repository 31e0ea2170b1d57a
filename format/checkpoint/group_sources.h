// The groups of a checkpoint as sources of its dense tensors.
#pragma once

#include "format/checkpoint/layout.h"
#include "format/checkpoint/special_scales.h"
#include "format/dense/sources.h"

namespace dequant::format::checkpoint {

/// Opens stored tensors, and counts the scales that are NaN or infinite.
class GroupSources : public dense::Sources {
 public:
  /// The shards must outlive this object.
  explicit GroupSources(const Shards& shards) : shards_(shards), scales_(shards) {}

  Plan plan(const OutputTensor& tensor) const override;
  std::string_view scheme(const OutputTensor& tensor) const override;
  Result<RecipeReaders> open(const OutputTensor& tensor, int64_t memory) override;
  Status complete(const OutputTensor& tensor, int64_t memory) override;
  Status read(const OutputTensor& tensor, Range bytes, const PartVisitor& visit,
              Phases* phases) override;
  void for_each_source(const OutputTensor& tensor,
                       const std::function<void(const dense::Source&)>& visit) const override;

  /// Of the tensors so far.
  const std::vector<SpecialScales>& special_scales() const { return scales_.found(); }

 private:
  const Shards& shards_;
  ScaleCounter scales_;
};

/// Identifies the files that are read, by names, sizes, headers and the configuration; with times
/// of change where `times` is set. Fails with io.
Result<std::string> hash_of_input(const Groups& groups, bool times);

}  // namespace dequant::format::checkpoint
