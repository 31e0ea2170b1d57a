// The file that says which conversion into a folder is not complete.
#include "format/dense/folder_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "format/io/errors.h"
#include "format/io/is_there.h"
#include "format/io/output.h"
#include "format/json/json.h"

namespace dequant::format::dense {
namespace {

/// Room for the names of a hundred thousand files.
constexpr int64_t kMostBytes = 10'000'000;

/// What must be the same where a conversion is continued, as keys and in messages.
constexpr std::array<std::pair<const char*, const char*>, 3> kSame{
    {{"dequant", "the version of dequant"}, {"input", "the input"}, {"output", "the options"}}};

/// The lines that end.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  return lines;
}

}  // namespace

FolderState::FolderState(std::string folder)
    : folder_(std::move(folder)), path_(fmt::format("{}/{}", folder_, kStateName)) {}

// Not by closing alone: a process that was forked meanwhile has the folder open too.
FolderState::~FolderState() {
  if (lock_.valid()) ::flock(lock_.get(), LOCK_UN);
}

Result<bool> FolderState::exists() const { return is_there(path_); }

Status FolderState::lock() {
  Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid())
    return errno == ENOTDIR ? Status() : io_error("cannot open {}", escaped(folder_));
  while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return {};
    return failure(ErrorCode::io, "{}: another conversion writes into this folder",
                   escaped(folder_));
  }
  lock_ = std::move(folder);
  return {};
}

Status FolderState::begin(const nlohmann::ordered_json& conversion) {
  DEQUANT_TRY(OutputFile out, OutputFile::create(path_, Overwrite::replace));
  DEQUANT_CHECK(out.write(conversion.dump() + "\n"));
  return out.commit();
}

Result<std::string> FolderState::text() const { return read_small_file(path_, kMostBytes); }

Status FolderState::check(const nlohmann::ordered_json& conversion) const {
  DEQUANT_TRY(const std::string content, text());
  const auto found = parse_json(std::string_view(content).substr(0, content.find('\n')));
  if (!found) return in(escaped(path_), found.error());
  for (const auto& [key, what] : kSame) {
    const nlohmann::json* value = found->is_object() ? member(*found, key) : nullptr;
    if (value != nullptr && value->is_string() &&
        value->get<std::string>() == conversion.at(key).get<std::string>())
      continue;
    return failure(ErrorCode::invalid_argument,
                   "{}: the conversion cannot be resumed, as {} changed since it began: begin "
                   "again without resume",
                   escaped(folder_), what);
  }
  return {};
}

Status FolderState::resume() {
  DEQUANT_TRY(const std::string content, text());
  const auto lines = lines_of(content);
  for (size_t i = 1; i < lines.size(); ++i) {
    const auto name = parse_json(lines[i]);
    if (!name || !name->is_string()) {
      return failure(ErrorCode::malformed, "{}: line {} is not the name of a file", escaped(path_),
                     i + 1);
    }
    complete_.insert(name->get<std::string>());
  }
  return {};
}

Status FolderState::cut_last_line() const {
  DEQUANT_TRY(const std::string content, text());
  const size_t whole = content.rfind('\n') + 1;  // 0 where there is none
  if (whole == content.size()) return {};
  if (::truncate(path_.c_str(), static_cast<off_t>(whole)) == 0) return {};
  return io_error("cannot write {}", escaped(path_));
}

Status FolderState::add(const std::string& name) const {
  const Descriptor file(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  const std::string line = nlohmann::json(name).dump() + "\n";
  if (!file.valid()) return io_error("cannot write {}", escaped(path_));
  const ssize_t written = ::write(file.get(), line.data(), line.size());
  if (written >= 0 && std::cmp_less(written, line.size())) errno = ENOSPC;
  const bool whole = std::cmp_equal(written, line.size());
  if (!whole || ::fdatasync(file.get()) != 0) return io_error("cannot write {}", escaped(path_));
  return {};
}

Status FolderState::remove() const { return remove_file(path_); }

}  // namespace dequant::format::dense
