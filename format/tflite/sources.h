// The constants of a TFLite model as sources of its dense tensors.
#pragma once

#include "format/dense/sources.h"
#include "format/tflite/constants.h"

namespace dequant::format::tflite {

/// The constant that a tensor of the output comes from.
inline const Constant& constant_of(const dense::OutputTensor& tensor) {
  return *static_cast<const Constant*>(tensor.origin);
}

class ConstantSources : public dense::Sources {
 public:
  /// The file must outlive this object. `name` is that of the file in audits.
  ConstantSources(const InputFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  Plan plan(const dense::OutputTensor& tensor) const override;
  std::string_view scheme(const dense::OutputTensor& tensor) const override;
  Result<RecipeReaders> open(const dense::OutputTensor& tensor, int64_t memory) override;
  /// Counts the scales of blocks that are special. Others are counted where the model is opened:
  /// they are in its structure.
  Status complete(const dense::OutputTensor& tensor, int64_t memory) override;
  Status read(const dense::OutputTensor& tensor, Range bytes, const PartVisitor& visit,
              Phases* phases) override;
  void for_each_source(const dense::OutputTensor& tensor,
                       const std::function<void(const dense::Source&)>& visit) const override;

  /// About the tensors that are complete.
  const Warnings& warnings() const { return warnings_; }

 private:
  const InputFile& file_;
  const std::string name_;
  Warnings warnings_;
};

}  // namespace dequant::format::tflite
