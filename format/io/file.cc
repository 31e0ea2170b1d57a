// Reading files by position.
#include "format/io/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "format/io/errors.h"
#include "format/io/fetched.h"

namespace dequant::format {
namespace {

FileIdentity identity_from(const struct stat& s) {
  return {static_cast<uint64_t>(s.st_dev), static_cast<uint64_t>(s.st_ino), s.st_size,
          int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec};
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Result<InputFile> InputFile::open(const std::string& path) {
  if (path.empty()) return Error{ErrorCode::io, "\"\" is no file name", ENOENT};
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return io_error("cannot open {}", escaped(path));
  return adopt(std::move(fd), path);
}

Result<InputFile> InputFile::adopt(Descriptor fd, std::string name) {
  struct stat s {};
  if (::fstat(fd.get(), &s) != 0) return io_error("cannot stat {}", escaped(name));
  if (!S_ISREG(s.st_mode)) {
    return failure(ErrorCode::io, "{} is not a regular file", escaped(name));
  }
  InputFile file;
  file.fd_ = std::move(fd);
  file.name_ = std::move(name);
  file.identity_ = identity_from(s);
  return file;
}

InputFile InputFile::in_memory(MemoryBytes memory, std::string name) {
  InputFile file;
  file.memory_ = std::move(memory);
  file.name_ = std::move(name);
  file.identity_.size = static_cast<int64_t>(file.memory_.bytes.size());
  return file;
}

Status InputFile::read(int64_t offset, std::span<std::byte> out) const {
  if (is_in_memory()) {
    const auto bytes = memory_.bytes;
    const auto begin = std::min(static_cast<size_t>(offset), bytes.size());
    if (out.size() > bytes.size() - begin) {
      return failure(ErrorCode::malformed, "{} has no {} bytes from byte {} on", escaped(name_),
                     out.size(), offset);
    }
    if (!out.empty()) std::memcpy(out.data(), bytes.data() + begin, out.size());
    return {};
  }
  const int64_t wanted = static_cast<int64_t>(std::min(out.size(), size_t{1} << 62));
  const int64_t left = std::max<int64_t>(size() - offset, 0);
  DEQUANT_CHECK(fetch_bytes(name_, {offset, offset + std::min(wanted, left)}));
  constexpr size_t kMost = size_t{1} << 30;  // one call reads less than 2 GiB
  while (!out.empty()) {
    const ssize_t n = ::pread(fd_.get(), out.data(), std::min(out.size(), kMost), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return io_error("cannot read {} at byte {}", escaped(name_), offset);
    if (n == 0) {
      return failure(ErrorCode::malformed,
                     "{} has no {} bytes from byte {} on: it changed while being read",
                     escaped(name_), out.size(), offset);
    }
    offset += n;
    out = out.subspan(static_cast<size_t>(n));
  }
  return {};
}

Status InputFile::check_unchanged() const {
  if (is_in_memory() || is_fetched(name_)) return {};
  struct stat s {};
  if (::fstat(fd_.get(), &s) != 0) return io_error("cannot stat {}", escaped(name_));
  if (identity_from(s) == identity_) return {};
  return failure(ErrorCode::malformed, "{} changed while being read", escaped(name_));
}

Status read_in_parts(const InputFile& file, int64_t offset, int64_t size, const PartVisitor& visit,
                     Phases* phases) {
  constexpr int64_t kPart = int64_t{1} << 20;
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(kPart, size)));
  for (int64_t done = 0; done < size;) {
    const auto part = std::span(buffer).first(static_cast<size_t>(std::min(kPart, size - done)));
    {
      const Stopwatch watch(phases, &Phases::read);
      DEQUANT_CHECK(file.read(offset + done, part));
    }
    DEQUANT_CHECK(visit(part));
    done += static_cast<int64_t>(part.size());
  }
  return {};
}

Result<std::string> read_small_file(const std::string& path, int64_t max_bytes) {
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  if (file.size() > max_bytes) {
    return failure(ErrorCode::limit, "{} has {} bytes, more than the {} read here", escaped(path),
                   file.size(), max_bytes);
  }
  std::string bytes(static_cast<size_t>(file.size()), '\0');
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

FileIdentity identity_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return {0, 0, -1, 0};
  return identity_from(s);
}

}  // namespace dequant::format
