// The options that only ONNX models have.
#include "format/onnx/options.h"

#include "format/io/errors.h"

namespace dequant::format::onnx {

Result<Options> read_options(const FormatOptions& given) {
  Options options;
  options.assume_const = given.has("assume-const");
  options.strip_qdq = given.has("strip-qdq");
  options.external_data = given.has("external-data");
  options.checksums = given.has("no-checksum") ? Checksums::skip : Checksums::verify;
  const std::string_view clip = given.value("clip", "needed");
  if (clip == "always") {
    options.clips = Clips::always;
  } else if (clip == "never") {
    options.clips = Clips::never;
  } else if (clip != "needed") {
    return failure(ErrorCode::invalid_argument, "clip: none of needed, always, never");
  }
  return options;
}

}  // namespace dequant::format::onnx
