// Names of temporary files, by which dequant recognises its own, and locks, which show whether the
// writing process still runs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dequant::format {

/// Whether the process that writes a file holds a lock on it. Some file systems have no locks.
enum class Locking { held, impossible };

/// A random name. It does not contain the name of the output, which may have the greatest length.
///   .dq-tmp-BBBBBBBBBBBBBBBB-RRRRRRRRRRRRRRRR  locked while its writer runs; B: start_of_system()
///   .dq-tmp-RRRRRRRRRRRRRRRR                   not locked: its writer may be running
std::string temporary_name(Locking locking);

/// The digits B of a name of the first form; empty for the second form; nothing for other names.
std::optional<std::string_view> start_in(std::string_view name);

/// 16 digits of the boot ID, which is different after each start of the system; zeros where the
/// system has no boot ID.
std::string start_of_system();

/// Locks an open file until its last descriptor is closed, at the latest when the process ends.
/// Does not wait: returns false with errno EWOULDBLOCK if another process has locked the file, or
/// with another errno of the file system.
bool lock(int fd);

}  // namespace dequant::format
