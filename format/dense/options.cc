// Reading the options of formats whose dense models are files of tensors.
#include "format/dense/options.h"

#include "format/io/byte_size.h"
#include "format/io/errors.h"

namespace dequant::format::dense {
namespace {

Result<int64_t> shard_bytes(std::string_view text) {
  const auto bytes = byte_size(text);
  if (bytes && *bytes != 0) return *bytes;
  return wrong_option("max-shard-size", text, kByteSizes);
}

}  // namespace

Error wrong_option(std::string_view option, std::string_view value, const char* allowed) {
  return failure(ErrorCode::invalid_argument, "{} \"{}\" is not {}", option, escaped(value),
                 allowed);
}

Result<Options> read_options(const FormatOptions& given) {
  Options options;
  const std::string_view others = given.value("others", "keep");
  if (others != "keep" && others != "same") return wrong_option("others", others, "keep or same");
  options.others_same = others == "same";
  DEQUANT_TRY(options.max_shard_bytes, shard_bytes(given.value("max-shard-size", "5G")));
  DEQUANT_TRY(options.resume, given.flag("resume"));
  options.audit = given.value("audit", "");
  if (options.resume && !options.audit.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "audit needs all tensors of one run, of which resume leaves some out");
  }
  return options;
}

Status check_resume(const Options& options, bool to_folder) {
  if (!options.resume || to_folder) return {};
  return failure(ErrorCode::invalid_argument,
                 "resume is for folders: a file appears whole or not at all");
}

}  // namespace dequant::format::dense
