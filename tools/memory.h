// Out of memory: at any time it ends the command with a message and exit code 6.
#pragma once

#include <string>

namespace dequant::tools {

/// Must be called when the options are parsed and a command begins. From then on lack of memory
/// throws std::bad_alloc. Before that it ends the process with the same message and exit code:
/// nothing can catch exceptions while the program is loaded, and some functions of the parser are
/// noexcept.
void begin_command();

/// Sets the file that the command is processing, for report_no_memory(). The string must exist as
/// long as the command runs.
void at_work_on(const std::string& file);

/// Prints the message, with the file that the command is processing, and returns the exit code.
int report_no_memory();

}  // namespace dequant::tools
