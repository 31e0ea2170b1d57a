// The text of a conversion, and completing its output.
#include "format/model/conversion.h"

#include <array>
#include <filesystem>

#include "format/io/errors.h"
#include "format/io/is_there.h"
#include "format/io/utf8.h"
#include "format/json/json.h"
#include "format/model/model_file.h"

namespace dequant::format {
namespace {

using nlohmann::ordered_json;

constexpr const char* kFolder = ".dequant-tasks";
/// Bytes of the text at most: globs are the only long part.
constexpr int64_t kMostOfText = int64_t{1} << 20;
/// Attempts to remove a folder, which fail where other processes remove files of it meanwhile.
constexpr int kRemovals = 1000;
/// Options of formats that write or continue a file of their own.
constexpr std::array<std::pair<const char*, const char*>, 2> kNotShared{
    {{"audit", "the records of the tasks have hashes and counts instead"},
     {"resume", "tasks that are done are never repeated"}}};

Result<std::vector<std::string>> texts(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* list = member(object, key);
  if (list == nullptr || !list->is_array()) return bad("there is no array \"{}\"", key);
  std::vector<std::string> out;
  for (const nlohmann::json& text : *list) {
    if (!text.is_string()) return bad("{}: {} is no string", key, shown(text));
    out.push_back(text.get<std::string>());
  }
  return out;
}

Result<bool> truth(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* value = member(object, key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) return bad("{}: {} is neither true nor false", key, shown(*value));
  return value->get<bool>();
}

Result<int64_t> task_bytes_of(const nlohmann::json& object) {
  constexpr const char* kKey = "task_bytes";
  const nlohmann::json* value = member(object, kKey);
  if (value == nullptr) return bad("there is no \"{}\"", kKey);
  auto bytes = integer<int64_t>(*value);
  if (!bytes) return in(kKey, std::move(bytes).error());
  if (*bytes < kLeastTaskBytes)
    return bad("{}: {} is less than {} bytes", kKey, *bytes, kLeastTaskBytes);
  return bytes;
}

/// The path of the text of the conversion to `output`; empty: none was begun. Fails with io where
/// the system does not say.
Result<std::string> find_text(const std::string& output) {
  for (const std::string& folder : {work_folder_inside(output), work_folder_beside(output)}) {
    std::string path = fmt::format("{}/{}", folder, kConversionName);
    DEQUANT_TRY(const bool there, is_there(path));
    if (there) return path;
  }
  return std::string();
}

/// What finalize() does where the output has no text of a conversion.
Result<ConvertReport> completed(Formats formats, const std::string& output) {
  // Another process has completed the output: there is a model, and nothing of the conversion.
  if (!open_model(formats, output, {})) {
    return failure(ErrorCode::io,
                   "{}: no conversion to it was begun by shares or tasks, and it is no model",
                   escaped(output));
  }
  // It may have been killed before all of the folder was gone.
  for (const std::string& folder : {work_folder_inside(output), work_folder_beside(output)}) {
    DEQUANT_TRY(const std::string text, find_text(output));
    if (is_taken(folder) && text.empty()) DEQUANT_CHECK(remove_work_folder(folder));
  }
  ConvertReport report;
  report.share.emplace().complete = true;
  return report;
}

/// Completes the conversion with the text at `path`.
Result<ConvertReport> complete(Formats formats, const std::string& output, const std::string& path,
                               const FinalizeOptions& options) {
  DEQUANT_TRY(const std::string text, read_small_file(path, kMostOfText));
  auto conversion = read_conversion(text);
  if (!conversion)
    return in(fmt::format("{}: {}", escaped(output), kConversionName),
              std::move(conversion).error());
  ConvertOptions& all = conversion->options;
  all.write.stream = options.stream;
  all.write.progress = options.progress;
  all.write.share->step = ShareOptions::Step::finalize;
  all.write.share->read_again = options.read_again;
  return convert(formats, options.input.empty() ? conversion->input : options.input, output, all);
}

}  // namespace

std::string work_folder_inside(const std::string& output) {
  return fmt::format("{}/{}", output, kFolder);
}

std::string work_folder_beside(const std::string& output) {
  return fmt::format("{}{}", output, kFolder);
}

Status remove_work_folder(const std::string& path) {
  DEQUANT_CHECK(remove_file(fmt::format("{}/{}", path, kConversionName)));
  std::error_code e = std::make_error_code(std::errc::no_such_file_or_directory);
  for (int i = 0; i < kRemovals && e == std::errc::no_such_file_or_directory && is_taken(path); ++i)
    std::filesystem::remove_all(path, e);
  if (e && is_taken(path))
    return failure(ErrorCode::io, "{} cannot be removed: {}", escaped(path), e.message());
  return {};
}

Result<std::string> conversion_text(const std::string& input, const ConvertOptions& options) {
  for (const auto& [name, instead] : kNotShared) {
    if (!options.open.own.has(name)) continue;
    return failure(ErrorCode::invalid_argument,
                   "{} is not for conversions that are carried out in shares: {}", name, instead);
  }
  std::error_code e;
  const auto absolute = std::filesystem::absolute(input, e);
  if (e) return failure(ErrorCode::io, "{}: {}", escaped(input), e.message());
  std::string path = absolute.lexically_normal().string();
  if (!is_utf8(path)) {
    return failure(ErrorCode::unsupported,
                   "{}: the path is no UTF-8, as the text of a conversion in shares is: rename it",
                   escaped(path));
  }
  const WriteOptions& write = options.write;
  ordered_json own = ordered_json::object();
  for (const auto& [name, value] : options.open.own.given()) own[name] = value;
  const ordered_json text{
      {"input", std::move(path)},
      {"dtype", write.dtype ? ordered_json(name(*write.dtype)) : ordered_json()},
      {"include", write.selection.include},
      {"exclude", write.selection.exclude},
      {"require_float", write.require_float},
      {"task_bytes", write.share->task_bytes},
      {"options", std::move(own)}};
  // Globs may be no UTF-8.
  return text.dump(2, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

Result<Conversion> read_conversion(std::string_view text) {
  DEQUANT_TRY(const nlohmann::json object, parse_json(text));
  if (!object.is_object()) return bad("it is no JSON object");
  Conversion out;
  WriteOptions& write = out.options.write;
  DEQUANT_TRY(out.input, text_member(object, "input"));
  if (const auto* dtype = member(object, "dtype"); dtype != nullptr && !dtype->is_null()) {
    DEQUANT_TRY(const std::string name, text_member(object, "dtype"));
    write.dtype = element_from_name(name);
    if (!write.dtype || !is_output(*write.dtype)) return bad("dtype: {} is no output type", name);
  }
  DEQUANT_TRY(write.selection.include, texts(object, "include"));
  DEQUANT_TRY(write.selection.exclude, texts(object, "exclude"));
  DEQUANT_TRY(write.require_float, truth(object, "require_float"));
  DEQUANT_TRY(const bool replaces, truth(object, "replace"));
  if (replaces) write.overwrite = Overwrite::replace;
  write.share.emplace();
  DEQUANT_TRY(write.share->task_bytes, task_bytes_of(object));
  const auto* own = member(object, "options");
  if (own == nullptr || !own->is_object()) return bad("there is no object \"options\"");
  for (const auto& [name, value] : own->items()) {
    if (!value.is_string()) return bad("{}: {} is no string", name, shown(value));
    out.options.open.own.set(name, value.get<std::string>());
  }
  return out;
}

Result<ConvertReport> finalize(Formats formats, const std::string& output,
                               const FinalizeOptions& options) {
  DEQUANT_TRY(const std::string path, find_text(output));
  if (path.empty()) return completed(formats, output);
  auto report = complete(formats, output, path, options);
  // Another process that completes the output takes the text away, then the records and the folder.
  const bool is_complete = report && report->share->complete;
  return is_complete || is_taken(path) ? std::move(report) : completed(formats, output);
}

}  // namespace dequant::format
