// Writing an edited model: inline while it fits, with a data file beside it otherwise.
#pragma once

#include <deque>
#include <string>

#include "format/model/write_options.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/rewire.h"

namespace dequant::format::onnx {

/// A dequantization whose result goes into the model, under the name of its output where the types
/// of both are the same; otherwise under a name of its own, which a Cast to the output reads.
struct Fold {
  Dequantization dequantization;
  int64_t bytes = 0;                              ///< of the result
  std::optional<Element> cast_to = std::nullopt;  ///< the type of the output, where it is another
  std::string constant = {};                      ///< the name of the result, with cast_to
};

struct Saved {
  int64_t model_bytes = 0;
  std::string data_file;
  int64_t data_bytes = 0;
};

/// The data file beside a model when so many names for it are taken.
std::string data_name(const std::string& path, int taken);

/// Puts the folds into the model and writes it, with float data in a file beside it where it does
/// not fit or `external_data` says so. Data files of the input are never referred to: what is left
/// of them is copied into the data file of the output. A dry run fails where nothing could be
/// written, but not because a file would be replaced.
Result<Saved> save(Model& model, ExternalFiles& files, const Rewire& rewire, const Edit& edit,
                   const std::deque<Fold>& folds, const std::string& path, bool external_data,
                   const WriteOptions& options);

}  // namespace dequant::format::onnx
