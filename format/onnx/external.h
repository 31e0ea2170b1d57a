// Opening the files that a model names, and no others.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format::onnx {

/// Fails with io when no model may name a file like that: only what is relative, and goes down.
Status check_location(const std::string& location);

/// Opens a file that a model refers to. The location is relative to the model's folder and stays
/// below it, symbolic links included. One layout outside is accepted: the model and the file are both
/// links and their targets lie in the same folder, as in the Hugging Face cache. Fails with io.
Result<InputFile> open_external(const std::string& model_path, const std::string& location);

/// The files of one model, for any number of threads.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string model_path) : model_path_(std::move(model_path)) {}

  /// The file stays open while anybody holds it; a few recent ones stay open for the next caller. Fails with
  /// malformed when a file that is opened again is not what it was.
  Result<std::shared_ptr<const InputFile>> open(const std::string& location);

 private:
  struct Entry {
    std::string location;
    std::shared_ptr<const InputFile> file;
  };
  std::string model_path_;
  std::mutex turn_;          ///< guards what follows
  std::list<Entry> recent_;  ///< most recent first
  std::unordered_map<std::string, FileIdentity> known_;
};

}  // namespace dequant::format::onnx
