// The subcommands of the command line. Each function adds a subcommand to the parser; where that is
// chosen, it runs and sets `exit_code`.
#pragma once

#include <string>

#include "dequant/status.h"
#include "tools/arguments.h"

namespace dequant::tools {

/// Exit codes, the same for every command.
enum ExitCode : int {
  kDone = 0,
  kDifferences = 1,  ///< a check found differences
  kUsage = 2,        ///< wrong usage or argument
  kMalformed = 3,    ///< malformed input, or a limit
  kUnsupported = 4,  ///< valid, but not supported
  kIo = 5,
  kMemory = 6,
};

/// The exit code of an error.
int exit_code(ErrorCode code);

/// Prints "dequant: error: ..." on stderr and returns the error's exit code.
int report(const Error& error);

void add_bench(const Command& app, int& exit_code);
void add_check(const Command& app, int& exit_code);
void add_convert(const Command& app, int& exit_code);
void add_diff(const Command& app, int& exit_code);
void add_verify(const Command& app, int& exit_code);
void add_extract(const Command& app, int& exit_code);
void add_finalize(const Command& app, int& exit_code);
void add_inspect(const Command& app, int& exit_code);
/// Without dialects the command has nothing but its name: for command lines that do not name it.
void add_op(const Command& app, bool with_dialects, int& exit_code);
void add_plan(const Command& app, int& exit_code);
void add_run(const Command& app, int& exit_code);
void add_vectors(const Command& app, int& exit_code);

}  // namespace dequant::tools
