// Converting a quantized model file to a float model file.
#include "format/model/convert.h"

#include <filesystem>

#include "format/io/clock.h"
#include "format/io/errors.h"
#include "format/model/conversion.h"
#include "format/model/model_file.h"
#include "format/model/overflows.h"

namespace dequant::format {
namespace {

Result<std::vector<Leftover>> clean(const std::string& output, const ConvertOptions& options) {
  if (!options.clean_temp) return std::vector<Leftover>();
  return remove_leftovers(folder_of(output),
                          options.write.dry_run ? Removal::pretended : Removal::done);
}

std::string absolute(const std::string& path) {
  std::error_code e;
  const std::string found =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path, e), e).string();
  return e ? path : found;
}

/// "folder/" and "." are names of a folder that is there, or that becomes one.
std::string without_slash(const std::string& input, const std::string& output) {
  std::error_code e;
  if (!std::filesystem::is_directory(input, e) && !std::filesystem::is_directory(output, e))
    return output;
  std::string name = output;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  const std::string last = std::filesystem::path(name).filename().string();
  return last == "." || last == ".." ? absolute(name) : name;
}

/// Before the work: files can be made in the folder that is there, or beside what is not.
Status check_writable(const std::string& output) {
  std::error_code e;
  return OutputFile::check_folder(std::filesystem::is_directory(output, e) ? output + "/-"
                                                                           : output);
}

/// Before the work: the audit is no file of the input and none of the output, and can be written.
Status check_audit(const ModelFile& file, const std::string& output,
                   const ConvertOptions& options) {
  if (!options.open.own.has("audit")) return {};
  const std::string audit(options.open.own.value("audit", ""));
  DEQUANT_CHECK(file.check_output(audit));
  const std::string own = absolute(audit);
  const std::string whole = absolute(output);
  if (own == whole || own.starts_with(whole + "/")) {
    return failure(ErrorCode::io, "{} would be a file of the output; name another audit",
                   escaped(audit));
  }
  return OutputFile::check(audit, options.write.overwrite);
}

}  // namespace

Result<ConvertReport> convert(Formats formats, const std::string& input, const std::string& named,
                              const ConvertOptions& options) {
  const auto started = Clock::now();
  const bool to_file = !options.write.memory;
  const std::string output = to_file ? without_slash(input, named) : named;
  std::vector<Leftover> leftovers;
  if (to_file) {
    DEQUANT_CHECK(check_writable(output));
    DEQUANT_TRY(leftovers, clean(output, options));
  }
  DEQUANT_TRY(const auto file, open_model(formats, input, options.open));
  if (to_file) {
    DEQUANT_CHECK(file->check_output(output));
    DEQUANT_CHECK(check_audit(*file, output, options));
  } else if (!file->format().writes_to_memory) {
    return failure(ErrorCode::unsupported,
                   "{}: {} are converted to files, not in memory; name an output", escaped(input),
                   file->format().files);
  }
  const double opened = seconds_since(started);
  WriteOptions write = options.write;
  if (write.share) {
    if (!file->format().has_shares) {
      return failure(ErrorCode::unsupported, "{}: {} are converted by one process, not in shares",
                     escaped(input), file->format().files);
    }
    if (options.open.bytes) {
      return failure(ErrorCode::invalid_argument, "a model in memory is not converted in shares");
    }
    DEQUANT_TRY(std::string text, conversion_text(input, options));
    if (write.share->conversion.empty()) write.share->conversion = std::move(text);
  }
  Overflows overflows;
  write.stream.overflows = &overflows;
  DEQUANT_TRY(ConvertReport report, file->write(output, write));
  report.words = file->format().words;
  report.seconds.decide += opened;
  report.seconds.total = seconds_since(started);
  for (auto& warnings : {write.selection.warnings(), overflows.warnings()})
    report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
  warn_of_kept(leftovers, report.warnings);
  report.cleaned = std::move(leftovers);
  return report;
}

}  // namespace dequant::format
