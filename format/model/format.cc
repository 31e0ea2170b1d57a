// Opening a model file by the first format that recognises it.
#include "format/model/format.h"

#include <sys/stat.h>

#include <algorithm>

#include "format/io/errors.h"
#include "format/model/model_file.h"

namespace dequant::format {
namespace {

constexpr size_t kHead = 64;

/// The first bytes of a file; empty for a folder.
Result<std::string> head_of(const std::string& path, const OpenOptions& options, bool is_folder) {
  if (is_folder) return std::string();
  DEQUANT_TRY(const InputFile file, open_input(path, options));
  std::string head(static_cast<size_t>(std::min<int64_t>(file.size(), kHead)), '\0');
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(head))));
  return head;
}

bool reads(const Format& format, std::string_view option) {
  return std::find(format.options.begin(), format.options.end(), option) != format.options.end();
}

/// "GGUF files and ONNX models".
std::string files_with(Formats formats, std::string_view option) {
  std::string text;
  for (const Format* f : formats) {
    if (reads(*f, option)) text += fmt::format("{}{}", text.empty() ? "" : " and ", f->files);
  }
  return text.empty() ? "no format" : text;
}

}  // namespace

Result<InputFile> open_input(const std::string& path, const OpenOptions& options) {
  if (options.bytes) return InputFile::in_memory(options.bytes->memory, path);
  return InputFile::open(path);
}

Result<const Format*> recognised(Formats formats, const std::string& path,
                                 const OpenOptions& options) {
  struct stat s {};
  const bool is_folder = !options.bytes && ::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
  DEQUANT_TRY(const std::string head, head_of(path, options, is_folder));
  const Probe probe{path, head, is_folder};
  const auto found = std::find_if(formats.begin(), formats.end(),
                                  [&](const Format* f) { return f->recognises(probe); });
  return found == formats.end() ? nullptr : *found;
}

Result<std::unique_ptr<ModelFile>> open_model(Formats formats, const std::string& path,
                                              const OpenOptions& options) {
  DEQUANT_TRY(const Format* format, recognised(formats, path, options));
  if (format == nullptr)
    return failure(ErrorCode::unsupported, "{}: the format is not known", escaped(path));
  for (const auto& [name, value] : options.own.given()) {
    if (reads(*format, name)) continue;
    return failure(ErrorCode::invalid_argument, "{}: {} is an option of {}, not of {}",
                   escaped(path), name, files_with(formats, name), format->files);
  }
  OpenOptions all = options;
  for (const auto& [name, value] : options.where_known.given()) {
    if (reads(*format, name)) all.own.set(name, value);
  }
  return format->open(path, all);
}

Status check_where_known(Formats formats, const FormatOptions& where_known, const ModelFile& a,
                         const ModelFile& b) {
  for (const auto& [name, value] : where_known.given()) {
    if (reads(a.format(), name) || reads(b.format(), name)) continue;
    return failure(ErrorCode::invalid_argument, "{} is an option of {}, not of {}", name,
                   files_with(formats, name), a.format().files);
  }
  return {};
}

}  // namespace dequant::format
