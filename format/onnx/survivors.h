// Tensors of the output whose data is in files beside the input.
#pragma once

#include <vector>

#include "format/onnx/edit.h"
#include "format/onnx/encode.h"
#include "format/onnx/external.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A tensor that is copied, and whose data is in an external file of the input.
struct Survivor {
  const Tensor* tensor;
  int64_t bytes;        ///< of its data
  ExternalRange range;  ///< in the data file of the output
};

/// All such tensors of a model.
class Survivors {
 public:
  /// Fails with io where a file cannot be opened, and with malformed or unsupported where it does
  /// not have the data of a tensor.
  Status find(const Model& model, ExternalFiles& files, const Rewire& rewire);

  std::vector<Survivor>& all() { return all_; }
  const std::vector<Survivor>& all() const { return all_; }

  /// True if any tensor of the input has external data, removed ones included.
  bool has_external() const { return has_external_; }

  /// Changes the tensors so that they refer to their range in the data file `location`.
  void refer(Edit& edit, const std::string& location) const;
  /// Changes the tensors so that they have their data: a piece Beside for each. Fails with io.
  Status include(Source& source, Edit& edit) const;

 private:
  Status add(const Model& model, ExternalFiles& files, const Tensor& tensor, bool removed);

  std::vector<Survivor> all_;
  bool has_external_ = false;
};

}  // namespace dequant::format::onnx
