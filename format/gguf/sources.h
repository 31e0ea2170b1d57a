// The parts of a GGUF model as sources of its dense tensors.
#pragma once

#include "format/dense/sources.h"
#include "format/gguf/layout.h"

namespace dequant::format::gguf {

class PartSources : public dense::Sources {
 public:
  /// The parts must outlive this object.
  explicit PartSources(const Parts& parts) : parts_(parts) {}

  Plan plan(const dense::OutputTensor& tensor) const override;
  std::string_view scheme(const dense::OutputTensor& tensor) const override;
  Result<RecipeReaders> open(const dense::OutputTensor& tensor, int64_t memory) override;
  Status read(const dense::OutputTensor& tensor, Range bytes, const PartVisitor& visit,
              Phases* phases) override;
  void for_each_source(const dense::OutputTensor& tensor,
                       const std::function<void(const dense::Source&)>& visit) const override;

 private:
  const Parts& parts_;
};

/// Identifies the files that are read, by names, sizes, and their tensors; with times of change
/// where `times` is set.
std::string hash_of_input(const Parts& parts, bool times);

}  // namespace dequant::format::gguf
