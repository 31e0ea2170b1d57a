// Opening the files that a model names, and no others.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "dequant/status.h"
#include "format/io/file.h"
#include "format/onnx/model.h"

namespace dequant::format::onnx {

/// Fails with io when no model may name a file like that: only what is relative, and goes down.
Status check_location(const std::string& location);

/// Opens a file that a model refers to. The location is relative to the model's folder and stays
/// below it, symbolic links included. One layout outside is accepted: the model and the file are
/// both links and their targets lie in the same folder, as in the Hugging Face cache. Fails with
/// io.
Result<InputFile> open_external(const std::string& model_path, const std::string& location);

/// Whether the checksums of external data count.
enum class Checksums : uint8_t { verify, skip };

/// The files of one model, for any number of threads.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::string model_path, Checksums checksums = Checksums::verify)
      : model_path_(std::move(model_path)), checksums_(checksums) {}

  /// The file stays open while anybody holds it; a few recent ones stay open for the next caller.
  /// Fails with malformed when a file that is opened again is not what it was.
  Result<std::shared_ptr<const InputFile>> open(const std::string& location);

  Checksums checksums() const { return checksums_; }

  /// Fails with malformed when the file is not the one of which the tensor's entries have the
  /// checksum. Each file is hashed once, and asks `tick` meanwhile.
  Status verify(const External& external, const std::function<Status()>& tick = {});

 private:
  struct Entry {
    std::string location;
    std::shared_ptr<const InputFile> file;
  };
  std::string model_path_;
  Checksums checksums_;
  std::mutex hashing_;                                            ///< guards digests_
  std::map<std::pair<uint64_t, uint64_t>, std::string> digests_;  ///< of device and inode
  std::mutex turn_;                                               ///< guards what follows
  std::list<Entry> recent_;                                       ///< most recent first
  std::unordered_map<std::string, FileIdentity> known_;
};

}  // namespace dequant::format::onnx
