// The options that only ONNX models have.
#include "format/onnx/options.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {

Result<Options> read_options(const FormatOptions& given) {
  Options options;
  DEQUANT_TRY(options.assume_const, given.flag("assume-const"));
  DEQUANT_TRY(options.strip_qdq, given.flag("strip-qdq"));
  DEQUANT_TRY(options.external_data, given.flag("external-data"));
  DEQUANT_TRY(const bool no_checksum, given.flag("no-checksum"));
  options.checksums = no_checksum ? Checksums::skip : Checksums::verify;
  const std::string_view clip = given.value("clip", "needed");
  if (clip == "always") {
    options.clips = Clips::always;
  } else if (clip == "never") {
    options.clips = Clips::never;
  } else if (clip != "needed") {
    return failure(ErrorCode::invalid_argument, "clip: none of needed, always, never");
  }
  if (given.has("clip") && !options.strip_qdq) {
    return failure(ErrorCode::invalid_argument,
                   "clip {}: only strip-qdq takes out pairs that a Clip may replace", clip);
  }
  return options;
}

}  // namespace dequant::format::onnx
