// The folder of a dense checkpoint while a conversion writes it.
#include "format/checkpoint/output_folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include "dequant/version.h"
#include "format/checkpoint/names.h"
#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
namespace {

/// The file that says which conversion is not complete.
constexpr const char* kState = ".dequant-unfinished.json";
constexpr int64_t kMostOfState = 10'000;

/// What must be the same where a conversion is continued, as keys of the state and in messages.
constexpr std::array<std::pair<const char*, const char*>, 3> kSame{
    {{"dequant", "the version of dequant"}, {"input", "the input"}, {"output", "the options"}}};

/// The files that are read, by names, sizes, times of change, and their tensors.
std::string hash_of_input(const Groups& groups) {
  Hash hash;
  for (const Shard& shard : groups.shards().files()) {
    const FileIdentity& identity = shard.file.identity();
    hash.add(fmt::format("{}\n{} {}\n", shard.name, identity.size, identity.changed_ns));
    for (const auto& t : shard.header.tensors())
      hash.add(fmt::format("{}\n{} {} {}\n", t.name, t.dtype->name, t.offset, t.bytes));
  }
  hash.add(groups.config().document().dump(-1, ' ', false,
                                           nlohmann::ordered_json::error_handler_t::replace));
  return hash.hex();
}

/// The files that are written, by names and tensors, which the options and the input decide on.
std::string hash_of_output(const Layout& layout) {
  Hash hash;
  for (const OutputShard& shard : layout.shards) {
    hash.add(fmt::format("{}\n", shard.name));
    hash.add(shard.header);
    for (const OutputTensor& t : shard.tensors) {
      hash.add(fmt::format("{} {}\n", t.group != nullptr ? "computed" : "copied",
                           static_cast<int>(t.output)));
    }
  }
  return hash.hex();
}

}  // namespace

std::string index_name() { return fmt::format("model{}", kIndex); }

std::string OutputFolder::state() const {
  return nlohmann::ordered_json{{"dequant", DEQUANT_VERSION},
                                {"input", hash_of_input(groups_)},
                                {"output", hash_of_output(layout_)}}
             .dump(2) +
         "\n";
}

Status OutputFolder::open() {
  if (::mkdir(path_.c_str(), 0777) == 0) {
    made_ = true;
    return write_state();
  }
  if (errno != EEXIST) return io_error("cannot make the folder {}", escaped(path_));
  if (own_.resume && is_taken(path_of(kState))) return check_state();
  DEQUANT_CHECK(check_others());
  return write_state();
}

/// Demands that the folder may be written into.
Status OutputFolder::check_others() const {
  std::error_code e;
  for (std::filesystem::directory_iterator at(path_, e), end; !e && at != end; at.increment(e)) {
    const std::string name = at->path().filename().string();
    if (own_.resume) {
      return failure(ErrorCode::io,
                     "{}: there is no unfinished conversion to resume, and the folder is not empty",
                     escaped(path_));
    }
    if (options_.overwrite == Overwrite::refuse) {
      return failure(ErrorCode::io, "{} exists and is not empty; {}", escaped(path_),
                     is_taken(path_of(kState))
                         ? "--resume continues the conversion that was interrupted there, --force "
                           "begins again"
                         : "--force writes into it");
    }
    const auto ours = [&](const OutputShard& shard) { return shard.name == name; };
    const bool index = name == index_name() && layout_.shards.size() > 1;
    if (!is_weight(name) || index || std::ranges::any_of(layout_.shards, ours)) continue;
    return failure(ErrorCode::io, "{} has {}, which is no file of this checkpoint: remove it",
                   escaped(path_), escaped(name));
  }
  if (e) return failure(ErrorCode::io, "{}: {}", escaped(path_), e.message());
  return {};
}

Status OutputFolder::write_state() const {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path_of(kState), Overwrite::replace));
  DEQUANT_CHECK(out.write(state()));
  return out.commit();
}

Status OutputFolder::check_state() const {
  DEQUANT_TRY(const std::string text, read_small_file(path_of(kState), kMostOfState));
  const auto found = parse_json(text);
  if (!found) return in(escaped(path_of(kState)), found.error());
  const auto wanted = nlohmann::json::parse(state());
  for (const auto& [key, what] : kSame) {
    const nlohmann::json* value = found->is_object() ? member(*found, key) : nullptr;
    if (value != nullptr && *value == wanted.at(key)) continue;
    return failure(ErrorCode::invalid_argument,
                   "{}: the conversion cannot be resumed, as {} changed since it began; --force "
                   "begins again",
                   escaped(path_), what);
  }
  return {};
}

Status OutputFolder::check_room(const OtherFiles& others) const {
  struct statvfs s {};
  if (::statvfs(path_.c_str(), &s) != 0) return io_error("{}", escaped(path_));
  int64_t needed = 0;
  for (const OutputShard& shard : layout_.shards) {
    DEQUANT_TRY(const bool done, has(shard));
    if (!done) needed += shard.bytes;
  }
  for (const OtherFile& other : others.copied) needed += other.bytes;
  const auto room = static_cast<uint64_t>(s.f_bavail) * s.f_frsize;
  if (static_cast<uint64_t>(needed) <= room) return {};
  return failure(ErrorCode::io, "{}: {} bytes are needed and {} are free", escaped(path_), needed,
                 room);
}

Result<bool> OutputFolder::has(const OutputShard& shard) const {
  const std::string path = path_of(shard.name);
  if (!own_.resume || !is_taken(path)) return false;
  DEQUANT_TRY(const InputFile file, InputFile::open(path));
  std::string header(shard.header.size(), '\0');
  if (file.size() != shard.bytes) return false;
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(header))));
  return header == shard.header;
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

}  // namespace dequant::format::checkpoint
