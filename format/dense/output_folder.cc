// The folder of a dense model while a conversion writes it.
#include "format/dense/output_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dequant/version.h"
#include "format/io/errors.h"
#include "format/io/is_there.h"
#include "format/io/room.h"

namespace dequant::format::dense {
namespace {

constexpr const char* kConfig = "config.json";

constexpr std::array<std::string_view, 13> kWeights{
    ".safetensors", ".safetensors.index.json",
    ".bin",         ".bin.index.json",
    ".pt",          ".pth",
    ".gguf",        ".onnx",
    ".onnx_data",   ".h5",
    ".msgpack",     ".ckpt",
    ".tflite",
};

}  // namespace

bool is_weight(std::string_view name) {
  return std::any_of(kWeights.begin(), kWeights.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

Status check_ending(const std::string& output, std::string_view what, std::string_view own) {
  for (const std::string_view end : {".safetensors", ".gguf", ".onnx", ".tflite"}) {
    if (end == own || !output.ends_with(end)) continue;
    return failure(ErrorCode::invalid_argument, "{}: the output is {}, and its name ends with {}",
                   escaped(output), what, end);
  }
  return {};
}

Status check_name_of_new(const std::string& folder) {
  struct stat s {};
  if (::stat(folder.c_str(), &s) == 0 && S_ISDIR(s.st_mode)) return {};
  return check_ending(folder, "a folder of safetensors files");
}

Error not_empty(const std::string& folder, std::string_view advice) {
  return {ErrorCode::io, fmt::format("{} exists and is not empty{}", escaped(folder), advice),
          ENOTEMPTY};
}

nlohmann::ordered_json OutputFolder::conversion() const {
  return {{"dequant", DEQUANT_VERSION}, {"input", input_}, {"output", hash_of_output(shards_)}};
}

Status OutputFolder::open() {
  made_ = ::mkdir(path_.c_str(), 0777) == 0;
  if (!made_ && errno != EEXIST) return io_error("cannot make the folder {}", escaped(path_));
  DEQUANT_CHECK(state_.lock());
  DEQUANT_CHECK(check());
  DEQUANT_TRY(const bool goes_on, continues());
  if (!goes_on) return begin();
  DEQUANT_CHECK(state_.resume());
  return state_.cut_last_line();
}

Status OutputFolder::begin() {
  DEQUANT_CHECK(state_.begin(conversion()));
  begun_ = true;
  return {};
}

Result<bool> OutputFolder::continues() const {
  if (!resume_) return false;
  return state_.exists();
}

Status OutputFolder::check() const {
  DEQUANT_TRY(const bool there, is_there(path_));
  if (!there) return {};
  DEQUANT_TRY(const bool goes_on, continues());
  return goes_on ? state_.check(conversion()) : check_others();
}

Status OutputFolder::check_dry(int64_t other_bytes) {
  DEQUANT_CHECK(check());
  DEQUANT_TRY(const bool goes_on, continues());
  if (goes_on) DEQUANT_CHECK(state_.resume());
  return check_room(other_bytes);
}

Status OutputFolder::check_others() const {
  std::error_code e;
  for (std::filesystem::directory_iterator at(path_, e), end; !e && at != end; at.increment(e)) {
    const std::string name = at->path().filename().string();
    if (resume_) {
      return failure(
          ErrorCode::io,
          "{}: there is no unfinished conversion to resume, and the folder is not empty, "
          "as where the conversion is complete; verify compares it with the input",
          escaped(path_));
    }
    if (overwrite_ == Overwrite::refuse) {
      DEQUANT_TRY(const bool unfinished, state_.exists());
      return not_empty(
          path_, unfinished ? "; resume continues the conversion that was interrupted there" : "");
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

Status OutputFolder::check_room(int64_t other_bytes) const {
  int64_t held = 0;  // more than now, by what is done so far
  int64_t most = 0;
  for (const OutputShard& shard : shards_) {
    DEQUANT_TRY(const bool done, has(shard));
    if (done) continue;
    held += shard.bytes;
    most = std::max(most, held);
    // The file of the same name goes when this one is complete, before the next is begun.
    if (overwrite() == Overwrite::replace) held -= bytes_freed(path_of(shard.name));
  }
  return format::check_room(path_, std::max(most, held + other_bytes));
}

Result<bool> OutputFolder::has(const OutputShard& shard) const {
  const std::string path = path_of(shard.name);
  if (!state_.has(shard.name) || !is_taken(path)) return false;
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  std::string header(shard.header.size(), '\0');
  if (file.size() != shard.bytes) return false;
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(header))));
  return header == shard.header;
}

Status OutputFolder::write_shards(TensorWriter& tensors, int64_t other_bytes) try {
  auto status = open();
  if (status) status = write_all(tensors, other_bytes);
  if (!status) abandon();
  return status;
} catch (...) {  // std::bad_alloc
  abandon();
  throw;
}

Status OutputFolder::write_all(TensorWriter& tensors, int64_t other_bytes) {
  DEQUANT_CHECK(check_room(other_bytes));
  for (const OutputShard& shard : shards_) {
    DEQUANT_TRY(const bool there, has(shard));
    if (there) {
      DEQUANT_CHECK(tensors.skip(shard));
    } else {
      DEQUANT_CHECK(write(tensors, shard));
      DEQUANT_CHECK(state_.add(shard.name));
    }
  }
  return {};
}

Status OutputFolder::write(TensorWriter& tensors, const OutputShard& shard) {
  DEQUANT_TRY(OutputFile out, tensors.fill(shard, path_of(shard.name), overwrite()));
  changed_ = changed_ || overwrite() == Overwrite::replace;
  DEQUANT_CHECK(withdraw());
  auto status = tensors.commit(out);
  changed_ = changed_ || out.in_place();  // also where the folder could not be flushed after that
  return status;
}

Status OutputFolder::withdraw() const {
  if (overwrite() == Overwrite::refuse) return {};
  DEQUANT_CHECK(remove_file(path_of(kConfig)));
  return remove_file(path_of(index_name(shards_)));
}

Status OutputFolder::write_index() const {
  return has_index_ ? write_text(index_name(shards_), index_text(shards_)) : Status();
}

Status OutputFolder::write_text(const std::string& name, std::string_view text) const {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path_of(name), overwrite()));
  DEQUANT_CHECK(out.write(text));
  return out.commit();
}

Status OutputFolder::finish() const { return state_.remove(); }

void OutputFolder::abandon() const {
  if (changed_) return;
  if (begun_) (void)state_.remove();
  if (made_) ::rmdir(path_.c_str());
}

}  // namespace dequant::format::dense
