// Opening the external data files of a model, and verifying their checksums.
#include "format/onnx/external.h"

#include <algorithm>

#include "format/io/below.h"
#include "format/io/errors.h"
#include "format/io/sha1.h"

namespace dequant::format::onnx {
namespace {

constexpr const char* kWhat = "external data";
constexpr size_t kOpenFiles = 32;
constexpr const char* kHexadecimal = "0123456789abcdefABCDEF";

}  // namespace

Status check_location(const std::string& location) {
  return format::check_location(kWhat, location);
}

Result<InputFile> open_external(const std::string& model_path, const std::string& location) {
  return open_below(kWhat, model_path, location);
}

Result<std::shared_ptr<const InputFile>> ExternalFiles::open(const std::string& location) {
  const std::lock_guard lock(mutex_);
  for (auto it = recent_.begin(); it != recent_.end(); ++it) {
    if (it->location != location) continue;
    recent_.splice(recent_.begin(), recent_, it);
    return recent_.front().file;
  }
  if (model_path_.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "its data is in the file \"{}\", and the model is in memory: base_dir names the "
                   "folder of its files",
                   escaped(location));
  }
  DEQUANT_TRY(InputFile file, open_external(model_path_, location));
  if (known_.emplace(location, file.identity()).first->second != file.identity())
    return failure(ErrorCode::malformed, "{} changed while being read", escaped(file.name()));
  if (recent_.size() == kOpenFiles) recent_.pop_back();
  recent_.push_front({location, std::make_shared<const InputFile>(std::move(file))});
  return recent_.front().file;
}

Status ExternalFiles::verify(const External& external, const std::function<Status()>& tick) {
  if (checksums_ == Checksums::skip || !external.has_checksum) return {};
  const std::string_view wanted = external.checksum;
  if (wanted.size() != 40 || wanted.find_first_not_of(kHexadecimal) != std::string_view::npos) {
    return failure(ErrorCode::malformed, "the checksum \"{}\" is no SHA-1 of 40 digits",
                   escaped(wanted));
  }
  DEQUANT_TRY(const auto file, open(external.location.str()));
  const std::lock_guard lock(hashing_);
  std::string& digest = digests_[{file->identity().device, file->identity().inode}];
  if (digest.empty()) {
    DEQUANT_TRY(digest, sha1_of(*file, tick));
  }
  const auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'F' ? b - 'A' + 'a' : b); };
  if (std::equal(digest.begin(), digest.end(), wanted.begin(), same)) return {};
  return failure(ErrorCode::malformed, "the SHA-1 of {} is {}, not {}, as its checksum says",
                 escaped(file->name()), digest, wanted);
}

}  // namespace dequant::format::onnx
