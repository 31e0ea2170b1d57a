// The folder of a dense model while a conversion writes it.
#include "format/dense/output_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "dequant/version.h"
#include "format/io/errors.h"
#include "format/json/json.h"

namespace dequant::format::dense {
namespace {

/// The file that says which conversion is not complete.
constexpr const char* kState = ".dequant-unfinished.json";
constexpr int64_t kMostOfState = 10'000'000;
/// The key of the state with the files of a model that is replaced.
constexpr const char* kReplaces = "replaces";

constexpr const char* kConfig = "config.json";

/// What must be the same where a conversion is continued, as keys of the state and in messages.
constexpr std::array<std::pair<const char*, const char*>, 3> kSame{
    {{"dequant", "the version of dequant"}, {"input", "the input"}, {"output", "the options"}}};

constexpr std::array<std::string_view, 13> kWeights{
    ".safetensors", ".safetensors.index.json",
    ".bin",         ".bin.index.json",
    ".pt",          ".pth",
    ".gguf",        ".onnx",
    ".onnx_data",   ".h5",
    ".msgpack",     ".ckpt",
    ".tflite",
};

/// Tells a file from one that takes its place.
std::string file_text(const std::string& path) {
  const FileIdentity id = identity_of(path);
  return fmt::format("{}:{}:{}", id.inode, id.size, id.changed_ns);
}

}  // namespace

bool is_weight(std::string_view name) {
  return std::any_of(kWeights.begin(), kWeights.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

Error not_empty(const std::string& folder, std::string_view advice) {
  return {ErrorCode::io, fmt::format("{} exists and is not empty{}", escaped(folder), advice),
          ENOTEMPTY};
}

nlohmann::ordered_json OutputFolder::state() const {
  nlohmann::ordered_json j{
      {"dequant", DEQUANT_VERSION}, {"input", input_}, {"output", hash_of_output(shards_)}};
  for (const OutputShard& shard : shards_) {
    if (is_taken(path_of(shard.name))) j[kReplaces][shard.name] = file_text(path_of(shard.name));
  }
  return j;
}

Status OutputFolder::open() {
  if (::mkdir(path_.c_str(), 0777) == 0) {
    made_ = true;
    return write_state();
  }
  if (errno != EEXIST) return io_error("cannot make the folder {}", escaped(path_));
  DEQUANT_CHECK(check());
  if (!continues()) return write_state();
  DEQUANT_TRY(const nlohmann::json found, read_state());
  if (const nlohmann::json* old = member(found, kReplaces); old != nullptr && old->is_object()) {
    for (const auto& [name, text] : old->items()) {
      if (text.is_string()) replaces_.emplace(name, text.get<std::string>());
    }
  }
  return {};
}

bool OutputFolder::continues() const { return resume_ && is_taken(path_of(kState)); }

Status OutputFolder::check() const {
  if (!is_taken(path_)) return {};
  if (!continues()) return check_others();
  DEQUANT_TRY(const nlohmann::json found, read_state());
  return check_state(found);
}

Status OutputFolder::check_others() const {
  std::error_code e;
  for (std::filesystem::directory_iterator at(path_, e), end; !e && at != end; at.increment(e)) {
    const std::string name = at->path().filename().string();
    if (resume_) {
      return failure(ErrorCode::io,
                     "{}: there is no unfinished conversion to resume, and the folder is not empty",
                     escaped(path_));
    }
    if (overwrite_ == Overwrite::refuse) {
      return not_empty(path_, is_taken(path_of(kState))
                                  ? "; resume continues the conversion that was interrupted there"
                                  : "");
    }
    const auto ours = [&](const OutputShard& shard) { return shard.name == name; };
    const bool index = has_index_ && name == index_name(shards_);
    if (!is_weight(name) || index || std::ranges::any_of(shards_, ours)) continue;
    return failure(ErrorCode::io, "{} has {}, which is no file of this checkpoint: remove it",
                   escaped(path_), escaped(name));
  }
  if (e) return failure(ErrorCode::io, "{}: {}", escaped(path_), e.message());
  return {};
}

Status OutputFolder::write_state() const {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path_of(kState), Overwrite::replace));
  DEQUANT_CHECK(out.write(state().dump(2) + "\n"));
  return out.commit();
}

Result<nlohmann::json> OutputFolder::read_state() const {
  DEQUANT_TRY(const std::string text, read_small_file(path_of(kState), kMostOfState));
  auto found = parse_json(text);
  if (!found) return in(escaped(path_of(kState)), std::move(found).error());
  return *std::move(found);
}

Status OutputFolder::check_state(const nlohmann::json& found) const {
  const nlohmann::ordered_json wanted = state();
  for (const auto& [key, what] : kSame) {
    const nlohmann::json* value = found.is_object() ? member(found, key) : nullptr;
    if (value != nullptr && *value == wanted.at(key)) continue;
    return failure(ErrorCode::invalid_argument,
                   "{}: the conversion cannot be resumed, as {} changed since it began: begin "
                   "again without resume",
                   escaped(path_), what);
  }
  return {};
}

Status OutputFolder::check_room(int64_t other_bytes) const {
  struct statvfs s {};
  if (::statvfs(path_.c_str(), &s) != 0) return io_error("{}", escaped(path_));
  int64_t needed = other_bytes;
  for (const OutputShard& shard : shards_) {
    DEQUANT_TRY(const bool done, has(shard));
    if (!done) needed += shard.bytes;
  }
  const auto room = static_cast<uint64_t>(s.f_bavail) * s.f_frsize;
  if (static_cast<uint64_t>(needed) <= room) return {};
  return failure(ErrorCode::io, "{}: {} bytes are needed and {} are free", escaped(path_), needed,
                 room);
}

Result<bool> OutputFolder::has(const OutputShard& shard) const {
  const std::string path = path_of(shard.name);
  if (!resume_ || !is_taken(path)) return false;
  const auto old = replaces_.find(shard.name);
  if (old != replaces_.end() && old->second == file_text(path)) return false;
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  std::string header(shard.header.size(), '\0');
  if (file.size() != shard.bytes) return false;
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(header))));
  return header == shard.header;
}

Status OutputFolder::write_shards(TensorWriter& tensors, int64_t other_bytes) {
  DEQUANT_CHECK(open());
  int64_t complete = 0;
  auto status = write_all(tensors, other_bytes, complete);
  if (!status && complete == 0) abandon();
  return status;
}

Status OutputFolder::write_all(TensorWriter& tensors, int64_t other_bytes, int64_t& complete) {
  DEQUANT_CHECK(check_room(other_bytes));
  for (const OutputShard& shard : shards_) {
    DEQUANT_TRY(const bool there, has(shard));
    DEQUANT_CHECK(there ? tensors.skip(shard)
                        : tensors.write(shard, path_of(shard.name), overwrite(),
                                        [this] { return withdraw(); }));
    ++complete;
  }
  return {};
}

Status OutputFolder::withdraw() const {
  if (overwrite() == Overwrite::refuse) return {};
  for (const std::string& name : {std::string(kConfig), index_name(shards_)}) {
    if (::unlink(path_of(name).c_str()) != 0 && errno != ENOENT)
      return io_error("cannot remove {}", escaped(path_of(name)));
  }
  return {};
}

Status OutputFolder::write_index() const {
  return has_index_ ? write_text(index_name(shards_), index_text(shards_)) : Status();
}

Status OutputFolder::write_text(const std::string& name, std::string_view text) const {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path_of(name), overwrite()));
  DEQUANT_CHECK(out.write(text));
  return out.commit();
}

Status OutputFolder::finish() const {
  if (::unlink(path_of(kState).c_str()) != 0 && errno != ENOENT)
    return io_error("cannot remove {}", escaped(path_of(kState)));
  return {};
}

void OutputFolder::abandon() const {
  ::unlink(path_of(kState).c_str());
  if (made_) ::rmdir(path_.c_str());
}

}  // namespace dequant::format::dense
