// The digest that ONNX's external data may be checked by.
#pragma once

#include <functional>
#include <string>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format {

/// The SHA-1 of a whole file as 40 lower-case hexadecimal digits. `tick` is asked now and then; its
/// error ends the work. Fails with malformed when the file changes meanwhile.
Result<std::string> sha1_of(const InputFile& file, const std::function<Status()>& tick);

}  // namespace dequant::format
