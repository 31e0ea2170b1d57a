// Writing an edited model: inline while it fits, with a data file beside it otherwise.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "format/io/output.h"
#include "format/onnx/dequantization.h"
#include "format/onnx/rewire.h"
#include "format/onnx/stream.h"

namespace dequant::format::onnx {

/// A dequantization whose result goes into the model under the name of its output.
struct Fold {
  Dequantization dequantization;
  int64_t bytes = 0;  ///< of the result
};

/// Hears of bytes of output, one call at a time, on any thread. An error stops the work and comes out of it,
/// and nothing is written.
using Progress = std::function<Status(int64_t done, int64_t total)>;

struct SaveOptions {
  bool external_data = false;
  /// All but writing: fails where nothing could be written, but not because a file would be replaced.
  bool dry_run = false;
  Overwrite overwrite = Overwrite::refuse;
  StreamOptions stream;
  Progress
      progress;  ///< last, with all done, by the caller's thread before the model gets its name
};

struct Saved {
  int64_t model_bytes = 0;
  std::string data_file;
  int64_t data_bytes = 0;
};

/// The data file beside a model when so many names for it are taken.
std::string data_name(const std::string& path, int taken);

/// Puts the folds into the model and writes it. Data files of the input are never referred to: what is
/// left of them is copied into the data file of the output.
Result<Saved> save(Model& model, ExternalFiles& files, const Rewire& rewire, const Edit& edit,
                   const std::deque<Fold>& folds, const std::string& path,
                   const SaveOptions& options);

}  // namespace dequant::format::onnx
