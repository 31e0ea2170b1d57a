// Reading the options of formats whose dense models are files of tensors.
#include "format/dense/options.h"

#include "format/io/errors.h"

namespace dequant::format::dense {
namespace {

/// "5G", "500M", "1000000": decimal units, as transformers reads the same option.
Result<int64_t> bytes_of(std::string_view text) {
  constexpr const char* kAllowed = "a number of bytes such as 5G, 500M or 1000000";
  constexpr std::string_view kName = "max-shard-size";
  const std::string_view whole = text;
  if (text.ends_with('B')) text.remove_suffix(1);
  int64_t unit = 1;
  if (!text.empty()) {
    const char last = text.back();
    unit = last == 'G' ? 1'000'000'000 : last == 'M' ? 1'000'000 : last == 'K' ? 1000 : 1;
    if (unit != 1) text.remove_suffix(1);
  }
  if (text.empty() || text.size() > 15) return wrong_option(kName, whole, kAllowed);
  int64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return wrong_option(kName, whole, kAllowed);
    number = 10 * number + (c - '0');
  }
  if (number == 0 || number > INT64_MAX / unit) return wrong_option(kName, whole, kAllowed);
  return number * unit;
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
  DEQUANT_TRY(options.max_shard_bytes, bytes_of(given.value("max-shard-size", "5G")));
  DEQUANT_TRY(options.resume, given.flag("resume"));
  options.audit = given.value("audit", "");
  if (options.resume && !options.audit.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "audit needs all tensors of one run, of which resume leaves some out");
  }
  return options;
}

}  // namespace dequant::format::dense
