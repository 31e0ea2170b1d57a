// Whether a disk has room for an output, before the first byte of it is written.
#pragma once

#include <cstdint>
#include <string>

#include "dequant/status.h"

namespace dequant::format {

/// Demands that the file system of an output, a folder that is there or else what is made beside
/// its path, has `bytes` bytes free. Without this, reserving more than there is can take all that
/// is free from other programs until the system refuses it. File systems that do not say how large
/// they are have room. Fails with io and the system's ENOSPC.
Status check_room(const std::string& output, int64_t bytes);

/// Bytes that are free once the file at the path is removed, at the least; 0 where none is there,
/// or where it has other names.
int64_t bytes_freed(const std::string& path);

}  // namespace dequant::format
