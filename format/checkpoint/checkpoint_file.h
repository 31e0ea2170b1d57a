// Checkpoints as model files: each group of a scheme is a dense tensor.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "format/checkpoint/groups.h"
#include "format/checkpoint/options.h"
#include "format/model/model_file.h"

namespace dequant::format::checkpoint {

/// An open checkpoint: a folder, or one .safetensors file; see ModelFile for its functions.
class CheckpointFile : public ModelFile {
 public:
  /// See Format::open.
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path,
                                                 const OpenOptions& options);

  nlohmann::ordered_json facts() const override;
  Headline headline() const override;
  bool visit_metadata(const std::function<void(std::string_view key, std::string_view text)>&
                          visitor) const override;
  Status visit(const TensorVisitor& visitor) override;
  Status visit_floats(const TensorVisitor& visitor) override;
  Status visit_rest(const std::function<Status(const RestTensor&)>& visitor) const override;
  Result<std::optional<DenseTensor>> stored(const std::string& name) override;
  Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor, int64_t memory) override;
  void for_each_source(const StoredTensor& tensor, const SourceVisitor& visitor) const override;
  Result<AuditReport> check_audit(const std::string& audit, const Progress& progress) override;
  Status check_output(const std::string& output) const override;
  std::string instead() const override;
  Result<ConvertReport> write(const std::string& output, const WriteOptions& options) override;

 private:
  CheckpointFile(std::string path, std::unique_ptr<Shards> shards, Config config, Options own);

  StoredTensor stored_tensor(const Part& part) const;
  DenseTensor dense_tensor(const Group& group) const;
  LeftTensor left_tensor(const Entry& codes, const std::string& reason) const;
  RestTensor rest_tensor(const Entry& entry, std::string_view dropped) const;
  DenseTensor copied_tensor(const Entry& entry) const;

  std::unique_ptr<Shards> shards_;
  const Config config_;
  const Options own_;
  Groups groups_;
};

}  // namespace dequant::format::checkpoint
