// The data file of a converted ONNX model, written in shares. A model without a data file has no
// tasks: whoever completes the output writes it.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "format/dense/job.h"
#include "format/onnx/external.h"
#include "format/onnx/save.h"
#include "format/onnx/survivors.h"

namespace dequant::format::onnx {

/// What the data file has, as save() lays it out. All references must outlive the job.
struct DataFile {
  Model& model;
  ExternalFiles& files;
  const std::deque<Fold>& folds;
  const std::vector<std::optional<ExternalRange>>& ranges;  ///< of the folds in the data file
  const Survivors& survivors;
  const Scopes& scopes;
  const std::string& location;  ///< of the data file, beside the model; empty: there is none
  int64_t bytes = 0;
};

class ShareJob : public dense::Job, public dense::Sources {
 public:
  /// `model` are the pieces of the model file, and `write` writes it.
  ShareJob(const DataFile& data, const Pieces& model, std::function<Status()> write);

  const std::vector<dense::OutputShard>& shards() const override { return shards_; }
  dense::Sources& sources() override { return *this; }
  bool to_folder() const override { return false; }
  bool may_replace() const override { return false; }
  std::string path_of(const dense::OutputShard& shard, const std::string& output) const override;
  std::vector<std::string> names(const std::string& output) const override;
  Result<std::string> input_hash() const override;
  Status check_unchanged() const override;
  Status write_rest(const dense::OutputFolder&) override { return write_(); }

  Plan plan(const dense::OutputTensor& tensor) const override;
  std::string_view scheme(const dense::OutputTensor&) const override { return {}; }
  bool has_ranges(const dense::OutputTensor& tensor) const override;
  Result<RecipeReaders> open(const dense::OutputTensor& tensor, int64_t memory) override;
  Status read(const dense::OutputTensor& tensor, Range bytes, const PartVisitor& visit,
              Phases* phases) override;
  void for_each_source(const dense::OutputTensor& tensor,
                       const std::function<void(const dense::Source&)>& visit) const override;

 private:
  void add_tensors();

  const DataFile data_;
  const Pieces& pieces_;
  const std::function<Status()> write_;
  std::vector<dense::OutputShard> shards_;
};

}  // namespace dequant::format::onnx
