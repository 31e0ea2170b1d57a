// The records of tasks.
#include "format/dense/records.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "format/dense/output_folder.h"
#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/io/is_there.h"
#include "format/json/json.h"
#include "format/model/conversion.h"

namespace dequant::format::dense {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kMostOfText = int64_t{1} << 20;
constexpr int64_t kMostOfRecord = 10'000;
/// Bytes of a sample: three of a task are read to see that a file has what was written. A file that
/// was made again has zeros instead.
constexpr int64_t kSample = 4096;

std::string sample_hash(const InputFile& file, Range bytes, Status& status) {
  Hash hash;
  std::vector<std::byte> part;
  const int64_t size = std::min(kSample, bytes.end - bytes.begin);
  const int64_t middle = bytes.begin + (bytes.end - bytes.begin - size) / 2;
  for (const int64_t at : {bytes.begin, middle, bytes.end - size}) {
    part.resize(static_cast<size_t>(size));
    if (status) status = file.read(at, part);
    hash.add(part);
  }
  return hash.hex();
}

bool is_empty(const std::string& path) { return identity_of(path).size == 0; }

nlohmann::json or_null(std::optional<float> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

/// The name of this machine, for people who look for slow ones.
std::string host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? escaped(name.data()) : std::string();
}

/// What a record says that must be so.
nlohmann::json facts_of(const TaskList& list, size_t task) {
  const Range bytes = list.tasks[task].bytes;
  return {{"fingerprint", list.fingerprint},
          {"task", task},
          {"file", list.shard_of(task).name},
          {"begin", bytes.begin},
          {"end", bytes.end}};
}

}  // namespace

WorkFolder::WorkFolder(const std::string& output, const TaskList& list)
    : output_(output),
      job_(list.job),
      path_(job_.to_folder() ? work_folder_inside(output) : work_folder_beside(output)),
      data_(fmt::format("{}/data-{}", path_, list.fingerprint)),
      records_(fmt::format("{}/records-{}", path_, list.fingerprint)) {}

std::string WorkFolder::text_path() const { return fmt::format("{}/{}", path_, kConversionName); }

std::string WorkFolder::final_of(const OutputShard& shard) const {
  return job_.path_of(shard, output_);
}

std::string WorkFolder::unfinished(const OutputShard& shard) const {
  return fmt::format("{}/{}", data_, shard.name);
}

std::string WorkFolder::data_of(const OutputShard& shard) const {
  std::string path = unfinished(shard);
  return is_taken(path) ? path : final_of(shard);
}

std::string WorkFolder::record_of(size_t task) const {
  return fmt::format("{}/{:06}.json", records_, task);
}

/// Demands that the output has no files of another model.
Status WorkFolder::check_output(Overwrite overwrite) const {
  if (overwrite == Overwrite::replace && job_.may_replace()) {
    if (!job_.to_folder()) return {};
    const std::string input;  // only resumed conversions compare it
    return OutputFolder(output_, input, job_, false, overwrite).check_others();
  }
  if (!job_.to_folder()) {
    for (const std::string& path : job_.names(output_)) {
      if (!is_taken(path)) continue;
      if (overwrite == Overwrite::refuse)
        return Error{ErrorCode::io, fmt::format("{} exists", escaped(path)), EEXIST};
      return failure(ErrorCode::io, "{} exists: shares of an ONNX model replace no files",
                     escaped(path));
    }
    return {};
  }
  std::error_code e;
  for (std::filesystem::directory_iterator at(output_, e), end; !e && at != end; at.increment(e)) {
    if (at->path().filename() == std::filesystem::path(path_).filename()) continue;
    return not_empty(output_);
  }
  if (e) return failure(ErrorCode::io, "{}: {}", escaped(output_), e.message());
  return {};
}

Status WorkFolder::begin(const TaskList& list, const std::string& conversion,
                         Overwrite overwrite) const {
  if (job_.to_folder()) DEQUANT_CHECK(make_folder(output_));
  if (is_taken(text_path()) && !is_empty(text_path())) {
    DEQUANT_CHECK(check(list));
  } else {
    DEQUANT_CHECK(check_output(overwrite));
    DEQUANT_CHECK(make_folder(path_));
    DEQUANT_CHECK(write_text(list, conversion, overwrite));
  }
  DEQUANT_CHECK(make_folder(data_));
  return make_folder(records_);
}

/// Of several processes that begin at once one writes the text, and the others check it. A text
/// that is empty is that of a process which is about to write it, on a file system without links,
/// or was killed then: it counts as none.
Status WorkFolder::write_text(const TaskList& list, const std::string& conversion,
                              Overwrite overwrite) const {
  ordered_json text = ordered_json::parse(conversion);
  text["fingerprint"] = list.fingerprint;
  text["tasks"] = list.tasks.size();
  text["replace"] = overwrite == Overwrite::replace;
  const auto write = [&](Overwrite over) -> Status {
    DEQUANT_TRY(OutputFile out, OutputFile::create(text_path(), over));
    DEQUANT_CHECK(out.write(text.dump(2, ' ', true) + "\n"));
    return out.commit();
  };
  Status status = write(Overwrite::refuse);
  if (status || status.error().system != EEXIST) return status;
  return is_empty(text_path()) ? write(Overwrite::replace) : check(list);
}

Status WorkFolder::check(const TaskList& list) const {
  DEQUANT_TRY(const std::string text, read_small_file(text_path(), kMostOfText));
  auto found = parse_json(text);
  if (!found) return in(escaped(text_path()), std::move(found).error());
  const nlohmann::json* print = found->is_object() ? member(*found, "fingerprint") : nullptr;
  if (print != nullptr && *print == list.fingerprint) return {};
  return failure(ErrorCode::invalid_argument,
                 "{} has the tasks of another conversion: the input, the options or the version of "
                 "dequant are not the same; remove {} to begin again",
                 escaped(output_), escaped(path_));
}

/// Another process may give the file its name meanwhile.
Result<InputFile> WorkFolder::open_data(const OutputShard& shard) const {
  auto file = InputFile::open(data_of(shard));
  if (file || file.error().system != ENOENT) return file;
  return InputFile::open(final_of(shard));
}

Result<SharedFile> WorkFolder::open(const OutputShard& shard) const {
  return SharedFile::open(unfinished(shard), shard.bytes);
}

Status WorkFolder::add_record(const TaskList& list, size_t task, const ValueRange& values,
                              double seconds) const {
  const Range bytes = list.tasks[task].bytes;
  DEQUANT_TRY(const InputFile file, open_data(list.shard_of(task)));
  DEQUANT_TRY(std::string hash, hash_of(file, bytes.begin, bytes.end - bytes.begin));
  Status status;
  std::string samples = sample_hash(file, bytes, status);
  DEQUANT_CHECK(std::move(status));
  nlohmann::json record = facts_of(list, task);
  record["xxh3_128"] = std::move(hash);
  record["samples"] = std::move(samples);
  record["nan"] = values.nan;
  record["infinity"] = values.infinity;
  record["minimum"] = or_null(values.least);
  record["maximum"] = or_null(values.greatest);
  record["seconds"] = seconds;
  record["host"] = host();
  DEQUANT_TRY(OutputFile out, OutputFile::create(record_of(task), Overwrite::replace));
  DEQUANT_CHECK(out.write(record.dump(2) + "\n"));
  return out.commit();
}

Result<std::string> WorkFolder::missing(const TaskList& list, size_t task, bool read_again) const {
  DEQUANT_TRY(const bool recorded, is_there(record_of(task)));
  if (!recorded) return std::string("no record");
  DEQUANT_TRY(const std::string text, read_small_file(record_of(task), kMostOfRecord));
  const auto record = parse_json(text);
  if (!record || !record->is_object()) return std::string("its record is no JSON object");
  const nlohmann::json wanted_facts = facts_of(list, task);
  for (const auto& [key, value] : wanted_facts.items()) {
    const nlohmann::json* found = member(*record, key);
    if (found == nullptr || *found != value) return fmt::format("its record has another {}", key);
  }
  const OutputShard& shard = list.shard_of(task);
  DEQUANT_TRY(const bool is_unfinished, is_there(unfinished(shard)));
  DEQUANT_TRY(const bool is_final, is_there(final_of(shard)));
  if (!is_unfinished && !is_final) return fmt::format("{} is not there", escaped(shard.name));
  DEQUANT_TRY(const InputFile file, open_data(shard));
  if (file.size() != shard.bytes) {
    return fmt::format("{} has {} bytes, not {}", escaped(shard.name), file.size(), shard.bytes);
  }
  const Range bytes = list.tasks[task].bytes;
  Status status;
  const std::string samples = sample_hash(file, bytes, status);
  DEQUANT_CHECK(std::move(status));
  const nlohmann::json* wanted = member(*record, "samples");
  bool same = wanted != nullptr && *wanted == samples;
  if (same && read_again) {
    DEQUANT_TRY(const std::string hash, hash_of(file, bytes.begin, bytes.end - bytes.begin));
    wanted = member(*record, "xxh3_128");
    same = wanted != nullptr && *wanted == hash;
  }
  return same ? std::string()
              : fmt::format("bytes {} to {} of {} are not those that were written", bytes.begin,
                            bytes.end, escaped(shard.name));
}

Status WorkFolder::move(const OutputShard& shard, Overwrite overwrite) const {
  auto moved = move_file(unfinished(shard), final_of(shard), overwrite);
  if (!moved && moved.error().system == ENOENT && is_taken(final_of(shard))) return {};
  return moved;
}

Status WorkFolder::remove() const { return remove_work_folder(path_); }

}  // namespace dequant::format::dense
