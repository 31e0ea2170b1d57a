// Opening files below a folder: the location is checked as text, then openat2() resolves it below
// the folder in one call, so that no link can be exchanged meanwhile.
#include "format/io/below.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Error forbidden(const char* what, const std::string& location, const char* why) {
  return failure(ErrorCode::io, "{} location \"{}\" {}", what, escaped(location), why);
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

/// The layout of the Hugging Face cache: anchor and file are links to files in one folder.
int open_beside_target(const std::string& anchor, const std::filesystem::path& link) {
  std::error_code e;
  const auto target = std::filesystem::canonical(anchor, e);
  if (e) return -1;
  const auto file = std::filesystem::canonical(link, e);
  if (e || file.parent_path() != target.parent_path()) return -1;
  const auto folder_of_link = std::filesystem::canonical(link.parent_path(), e);
  if (e || folder_of_link == target.parent_path()) return -1;  // the anchor itself is no link
  const Descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return -1;
  return ::openat(folder.get(), file.filename().c_str(), kOpenFlags | O_NOFOLLOW);
}

}  // namespace

Status check_location(const char* what, const std::string& location) {
  if (location.empty()) return forbidden(what, location, "is empty");
  if (location.find('\0') != std::string::npos)
    return forbidden(what, location, "contains a NUL byte");
  if (location.find('\\') != std::string::npos)
    return forbidden(what, location, "contains a backslash");
  if (location.front() == '/') return forbidden(what, location, "is an absolute path");
  if (location.size() >= 2 && location[1] == ':')
    return forbidden(what, location, "starts with a drive letter");
  if (location.find("_ORT_MEM_ADDR_") != std::string::npos) {
    return forbidden(what, location, "names memory of another process, not a file");
  }
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    const std::string_view part(location.data() + begin, end - begin);
    if (part == "..") return forbidden(what, location, "leaves the model's folder");
    if (part == "." && location == ".") return forbidden(what, location, "is a folder");
    begin = end + 1;
  }
  return {};
}

Result<InputFile> open_below(const char* what, const std::string& anchor,
                             const std::string& location) {
  DEQUANT_CHECK(check_location(what, location));
  return open_listed(what, anchor, location);
}

Result<InputFile> open_listed(const char* what, const std::string& anchor,
                              const std::string& location) {
  std::filesystem::path folder_path = std::filesystem::path(anchor).parent_path();
  if (folder_path.empty()) folder_path = ".";
  const Descriptor folder(::open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return io_error("cannot open the folder {}", escaped(folder_path.native()));

  Descriptor fd(open_beneath(folder.get(), location.c_str()));
  if (!fd.valid() && (errno == ENOSYS || errno == EPERM)) {  // EPERM: some sandboxes forbid openat2
    fd = Descriptor(open_without_links(folder.get(), location));
    if (!fd.valid() && errno == ELOOP) errno = EXDEV;  // a link, whose target is not resolved here
  }
  if (!fd.valid() && errno == EXDEV) {
    fd = Descriptor(open_beside_target(anchor, folder_path / location));
    if (!fd.valid()) return forbidden(what, location, "is a link that leaves the model's folder");
  }
  if (!fd.valid()) return io_error("cannot open {} \"{}\"", what, escaped(location));
  return InputFile::adopt(std::move(fd), (folder_path / location).string());
}

}  // namespace dequant::format
