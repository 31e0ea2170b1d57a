// Temporary files: names that tell ours from others', and locks that tell living writers from dead
// ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dequant::format {

/// Whether the process that writes a file holds a lock on it. Some file systems have no locks.
enum class Locking { held, impossible };

/// A name that nobody else uses; independent of the output's, which may be as long as names can be.
///   .dq-tmp-BBBBBBBBBBBBBBBB-RRRRRRRRRRRRRRRR  locked while its writer lives; B: start_of_system()
///   .dq-tmp-RRRRRRRRRRRRRRRR                   not locked: nothing tells whether its writer lives
std::string temporary_name(Locking locking);

/// The B of a name of the first form, empty for the second; nothing for any other name.
std::optional<std::string_view> start_in(std::string_view name);

/// 16 digits that every start of a machine's kernel has its own of; zeros where the system does not
/// say.
std::string start_of_system();

/// Locks an open file until its last descriptor is closed, which the end of the process does. Does
/// not wait: false with EWOULDBLOCK if another process has it locked, else with the error of the
/// file system.
bool lock(int fd);

}  // namespace dequant::format
