// Opening the external data files of a model, and no other files.
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

/// Fails with io unless the location is a relative path without "..".
Status check_location(const std::string& location);

/// Opens an external data file of a model. The location is relative to the model's folder. Fails
/// with io where the file is not below that folder, symbolic links resolved. One exception is
/// allowed: the model and the file are both links to files in one other folder, as in the Hugging
/// Face cache.
Result<InputFile> open_external(const std::string& model_path, const std::string& location);

/// Whether the checksums of external data are verified.
enum class Checksums : uint8_t { verify, skip };

/// The external data files of one model. Any number of threads may use it.
class ExternalFiles {
 public:
  /// `model_path` is a path in the folder of the files; empty: there is none, and open() fails with
  /// invalid_argument.
  explicit ExternalFiles(std::string model_path, Checksums checksums = Checksums::verify)
      : model_path_(std::move(model_path)), checksums_(checksums) {}

  /// The open file. A few recent files stay open for later calls. Fails as open_external() does,
  /// and with malformed when a file changed between two calls.
  Result<std::shared_ptr<const InputFile>> open(const std::string& location);

  Checksums checksums() const { return checksums_; }

  /// Fails with malformed when the checksum of the file is not that of the tensor's entries. Each
  /// file is hashed once. `tick` is called repeatedly meanwhile; its first error is returned.
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
  std::mutex mutex_;                                              ///< guards recent_ and known_
  std::list<Entry> recent_;                                       ///< most recent first
  std::unordered_map<std::string, FileIdentity> known_;
};

}  // namespace dequant::format::onnx
