// Whether a path is that of a file: what cannot be looked at is not absent.
#pragma once

#include <string>

#include "dequant/status.h"

namespace dequant::format {

/// True if anything exists at the path, dangling links included, as is_taken() says; for files
/// whose absence means something. Fails with io where the system does not say.
Result<bool> is_there(const std::string& path);

}  // namespace dequant::format
