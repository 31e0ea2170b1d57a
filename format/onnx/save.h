// Writing an edited model: in one file if it fits, otherwise with a data file beside it.
#pragma once

#include <deque>
#include <string>

#include "format/model/write_options.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A dequantization whose result is written to the model as a constant. Where result and output of
/// the node have the same type, the constant has the name of the output. Otherwise it has a new
/// name, and a Cast computes the output from it.
struct Fold {
  Dequantization dequantization;
  int64_t bytes = 0;                              ///< of the result
  std::optional<Element> cast_to = std::nullopt;  ///< the type of the output, where it differs
  std::string constant = {};                      ///< the name of the result, with cast_to
};

/// What save() has written.
struct Saved {
  int64_t model_bytes = 0;
  std::string data_file;  ///< empty: none
  int64_t data_bytes = 0;
  std::optional<ShareReport> share = {};  ///< of a call with WriteOptions::share
};

/// The name of the data file of a model, if the first `taken` such names are taken.
std::string data_name(const std::string& path, int taken);

/// Writes the model with `edit` and `folds` applied. Float data is written to a data file beside
/// the model where the model would be too large, or with `external_data`. The output never refers
/// to data files of the input: tensors that stay in these are copied to the data file of the
/// output. A dry run writes nothing, and fails where writing would be impossible, but not where a
/// file would be replaced. Fails with io, malformed or limit, and with the error of
/// options.progress.
Result<Saved> save(Model& model, ExternalFiles& files, const Rewire& rewire, const Edit& edit,
                   const std::deque<Fold>& folds, const std::string& path, bool external_data,
                   const WriteOptions& options);

}  // namespace dequant::format::onnx
