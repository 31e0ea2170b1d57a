// SHA-1, the checksum of ONNX's external data.
#pragma once

#include <functional>
#include <string>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format {

/// The SHA-1 of a file as 40 lower-case hexadecimal digits. `tick` is called repeatedly meanwhile;
/// its first error ends the computation and is returned. Fails with malformed when the file changes
/// meanwhile, and as InputFile::read() does.
Result<std::string> sha1_of(const InputFile& file, const std::function<Status()>& tick);

}  // namespace dequant::format
