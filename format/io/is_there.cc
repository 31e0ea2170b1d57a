// Whether a path is that of a file.
#include "format/io/is_there.h"

#include <cerrno>

#include "format/io/errors.h"
#include "format/io/output.h"

namespace dequant::format {

Result<bool> is_there(const std::string& path) {
  if (is_taken(path)) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return io_error("cannot stat {}", escaped(path));
}

}  // namespace dequant::format
