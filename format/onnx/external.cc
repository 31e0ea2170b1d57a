// Opening the external data files of a model: the location is checked as text, then openat2()
// resolves it below the folder in one call, so that no link can be exchanged meanwhile.
#include "format/onnx/external.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "format/io/errors.h"
#include "format/io/sha1.h"

namespace dequant::format::onnx {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr size_t kOpenFiles = 32;
constexpr const char* kHexadecimal = "0123456789abcdefABCDEF";

Error forbidden(const std::string& location, const char* why) {
  return failure(ErrorCode::io, "external data location \"{}\" {}", escaped(location), why);
}

int open_beneath(int folder, const char* path) {
  open_how how{};
  how.flags = static_cast<uint64_t>(kOpenFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how));
}

/// Where openat2 is missing: opens component by component, and allows no symbolic link.
int open_without_links(int folder, const std::string& location) {
  Descriptor at;
  size_t begin = 0;
  for (;;) {
    const size_t slash = location.find('/', begin);
    const bool last = slash == std::string::npos;
    const std::string part = location.substr(begin, last ? std::string::npos : slash - begin);
    const int flags = O_NOFOLLOW | (last ? kOpenFlags : O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int from = at.valid() ? at.get() : folder;
    Descriptor next(part.empty() ? ::dup(from) : ::openat(from, part.c_str(), flags));
    if (!next.valid()) return -1;
    at = std::move(next);
    if (last) return at.release();
    begin = slash + 1;
  }
}

/// The layout of the Hugging Face cache: model and data are links to files in one folder.
int open_beside_target(const std::string& model_path, const std::filesystem::path& link) {
  std::error_code e;
  const auto model = std::filesystem::canonical(model_path, e);
  if (e) return -1;
  const auto data = std::filesystem::canonical(link, e);
  if (e || data.parent_path() != model.parent_path()) return -1;
  const auto folder_of_link = std::filesystem::canonical(link.parent_path(), e);
  if (e || folder_of_link == model.parent_path()) return -1;  // the model itself is no link
  const Descriptor folder(::open(data.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return -1;
  return ::openat(folder.get(), data.filename().c_str(), kOpenFlags | O_NOFOLLOW);
}

}  // namespace

Status check_location(const std::string& location) {
  if (location.empty()) return forbidden(location, "is empty");
  if (location.find('\0') != std::string::npos) return forbidden(location, "contains a NUL byte");
  if (location.find('\\') != std::string::npos) return forbidden(location, "contains a backslash");
  if (location.front() == '/') return forbidden(location, "is an absolute path");
  if (location.size() >= 2 && location[1] == ':')
    return forbidden(location, "starts with a drive letter");
  if (location.find("_ORT_MEM_ADDR_") != std::string::npos) {
    return forbidden(location, "names memory of another process, not a file");
  }
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string_view part(location.data() + begin, end - begin);
    if (part == "..") return forbidden(location, "leaves the model's folder");
    if (part == "." && location == ".") return forbidden(location, "is a folder");
    begin = end + 1;
  }
  return {};
}

Result<InputFile> open_external(const std::string& model_path, const std::string& location) {
  DEQUANT_CHECK(check_location(location));
  std::filesystem::path folder_path = std::filesystem::path(model_path).parent_path();
  if (folder_path.empty()) folder_path = ".";
  const Descriptor folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return io_error("cannot open the folder {}", escaped(folder_path.native()));

  Descriptor fd(open_beneath(folder.get(), location.c_str()));
  if (!fd.valid() && (errno == ENOSYS || errno == EPERM)) {  // EPERM: some sandboxes forbid openat2
    fd = Descriptor(open_without_links(folder.get(), location));
    if (!fd.valid() && errno == ELOOP) errno = EXDEV;  // a link, whose target is not resolved here
  }
  if (!fd.valid() && errno == EXDEV) {
    fd = Descriptor(open_beside_target(model_path, folder_path / location));
    if (!fd.valid()) return forbidden(location, "is a link that leaves the model's folder");
  }
  if (!fd.valid()) return io_error("cannot open external data \"{}\"", escaped(location));
  return InputFile::adopt(std::move(fd), (folder_path / location).string());
}

Result<std::shared_ptr<const InputFile>> ExternalFiles::open(const std::string& location) {
  const std::lock_guard lock(mutex_);
  for (auto it = recent_.begin(); it != recent_.end(); ++it) {
    if (it->location != location) continue;
    recent_.splice(recent_.begin(), recent_, it);
    return recent_.front().file;
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
