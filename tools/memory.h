// Lack of memory, whenever it comes, ends the command with a sentence and exit code 6.
#pragma once

#include <string>

namespace dequant::tools {

/// To be called when options are parsed and a command begins: from here on lack of memory is an
/// exception. Before, it ends the process, with the same sentence and exit code: nothing could
/// catch it while the program is loaded, and the parser has functions that let no exception
/// through.
void begin_command();

/// Says which file the command is at, for report_no_memory(). The text must live as long as the
/// command.
void at_work_on(const std::string& file);

/// Reports lack of memory with the name of the file that the command is at, and returns the exit
/// code.
int report_no_memory();

}  // namespace dequant::tools
