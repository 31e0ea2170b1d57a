// GGUF files as model files: each tensor of blocks is a dense tensor.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "format/gguf/layout.h"
#include "format/gguf/tensors.h"
#include "format/model/model_file.h"

namespace dequant::format::gguf {

/// An open model of one file or several; see ModelFile for its functions.
class GgufFile : public ModelFile {
 public:
  /// See Format::open.
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path,
                                                 const OpenOptions& options);

  nlohmann::ordered_json facts() const override;
  Headline headline() const override;
  std::vector<Headline> details() const override;
  Status visit(const TensorVisitor& visitor) override;
  Status visit_floats(const TensorVisitor& visitor) override;
  Status visit_rest(const std::function<Status(const RestTensor&)>& visitor) const override;
  Result<std::optional<DenseTensor>> stored(const std::string& name) override;
  Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor, int64_t memory) override;
  Result<AuditReport> check_audit(const std::string& audit, const Progress& progress) override;
  Status check_output(const std::string& output) const override;
  std::string instead() const override;
  Result<ConvertReport> write(const std::string& output, const WriteOptions& options) override;

 private:
  GgufFile(std::string path, std::unique_ptr<Parts> parts, Uses uses, Options own);

  /// The tensor as it is stored; blocks are bytes of this shape.
  StoredTensor stored_tensor(const Entry& entry, Shape shape) const;
  DenseTensor dense_tensor(const Blocks& blocks) const;
  RestTensor rest_tensor(const Entry& entry, std::string_view dropped) const;
  DenseTensor copied_tensor(const Entry& entry) const;

  std::unique_ptr<Parts> parts_;
  Uses uses_;
  const Options own_;
};

}  // namespace dequant::format::gguf
