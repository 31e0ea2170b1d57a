// TFLite models as model files: each constant with quantization parameters is a dense tensor.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "format/dense/options.h"
#include "format/model/model_file.h"
#include "format/tflite/constants.h"

namespace dequant::format::tflite {

/// An open model; see ModelFile for its functions.
class TfliteFile : public ModelFile {
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
  Status check_output(const std::string& output) const override;
  std::string instead() const override;
  Result<ConvertReport> write(const std::string& output, const WriteOptions& options) override;

 private:
  TfliteFile(std::string path, InputFile file, dense::Options own);

  DenseTensor dense_tensor(const Constant& constant) const;
  DenseTensor copied_tensor(const Constant& constant) const;
  size_t tensors() const;

  const InputFile file_;
  const dense::Options own_;
  Model model_;
  Constants constants_;
};

}  // namespace dequant::format::tflite
