// Folders of checkpoints in memory.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <utility>

#include "format/safetensors/writer.h"
#include "fuzz/support/check.h"
#include "fuzz/support/checkpoint.h"
#include "fuzz/support/file.h"

namespace dequant::fuzz {
namespace {

using format::safetensors::NewHeader;
using format::safetensors::NewMetadata;
using format::safetensors::NewTensor;

/// Bytes of data of a file that are written.
constexpr int64_t kMostData = int64_t{1} << 16;

void write_file(const std::string& path, std::string_view bytes, int64_t size) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  require(fd >= 0, "no file in /dev/shm");
  const auto count = static_cast<ssize_t>(bytes.size());
  const bool good = ::write(fd, bytes.data(), bytes.size()) == count &&
                    (size == count || ::ftruncate(fd, size) == 0);
  ::close(fd);
  require(good, "the input cannot be written to memory");
}

/// The data of a file, in the order of its header.
std::string data_of(std::span<const CheckpointTensor> tensors, const NewHeader& header,
                    int64_t size, Cursor& cursor) {
  std::string all(static_cast<size_t>(std::min(size, kMostData)), '\0');
  const auto bytes = std::as_writable_bytes(std::span(all));
  const auto for_each = [&](auto visit) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const int64_t begin = header.offset(i) - static_cast<int64_t>(header.bytes().size());
      if (begin < std::ssize(all))
        visit(tensors[i].data, bytes.subspan(static_cast<size_t>(begin)));
    }
  };
  // Data of the input first: they end behind their tensor.
  for_each([&](const std::vector<std::byte>& own, std::span<std::byte> rest) {
    if (own.empty()) cursor.fill(rest.first(std::min<size_t>(rest.size(), 4096)));
  });
  for_each([&](const std::vector<std::byte>& own, std::span<std::byte> rest) {
    std::copy_n(own.begin(), std::min(own.size(), rest.size()), rest.begin());
  });
  return all;
}

}  // namespace

CheckpointFolder::CheckpointFolder() : path_(folder_in_memory() + "/in") {
  require(::mkdir(path_.c_str(), 0700) == 0, "no folder in /dev/shm");
}

std::string CheckpointFolder::path_of(std::string_view name) const {
  return path_ + "/" + std::string(name);
}

void CheckpointFolder::write_text(std::string_view name, std::string_view text) {
  write_file(path_of(name), text, static_cast<int64_t>(text.size()));
  files_.emplace(name);
}

bool CheckpointFolder::write_tensors(const std::string& name,
                                     std::span<const CheckpointTensor> tensors,
                                     const Metadata& said, Cursor& data, int64_t most) {
  std::vector<NewTensor> listed;
  for (const CheckpointTensor& t : tensors)
    listed.push_back({t.name, format::safetensors::find_dtype(t.dtype), t.shape});
  NewMetadata metadata;
  std::deque<std::string> texts;
  for (const auto& [key, value] : said)
    metadata.emplace_back(key, texts.emplace_back(value.dump()));
  const auto header = NewHeader::make(listed, metadata);
  if (!accepted(header)) return false;
  const auto begin = static_cast<int64_t>(header->bytes().size());
  if (header->file_size() - begin > most) return false;
  std::string bytes = header->bytes();
  bytes += data_of(tensors, *header, header->file_size() - begin, data);
  write_file(path_of(name), bytes, header->file_size());
  files_.insert(name);
  return true;
}

bool CheckpointFolder::write(const Checkpoint& checkpoint, Cursor& data, bool two_files,
                             int64_t most) {
  const auto before = std::exchange(files_, {});
  const std::span all(checkpoint.tensors);
  const size_t half = all.size() / 2;
  const auto write = [&](const char* name, std::span<const CheckpointTensor> tensors,
                         const Metadata& said) {
    return write_tensors(name, tensors, said, data, most);
  };
  const bool good =
      two_files ? write("model-00001-of-00002.safetensors", all.first(half), checkpoint.metadata) &&
                      write("model-00002-of-00002.safetensors", all.subspan(half), {})
                : write("model.safetensors", all, checkpoint.metadata);
  if (good && !checkpoint.config.empty()) write_text("config.json", checkpoint.config.dump());
  if (good && !checkpoint.file.empty()) write_text(checkpoint.file, checkpoint.said.dump());
  for (const std::string& file : before) {
    if (!files_.contains(file)) ::unlink(path_of(file).c_str());
  }
  return good;
}

}  // namespace dequant::fuzz
