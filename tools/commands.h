// The subcommands of the command line: each adds itself to the parser and, when chosen, leaves its
// exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "dequant/status.h"

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

void add_bench(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_convert(CLI::App& app, int& exit_code);
void add_extract(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_op(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_vectors(CLI::App& app, int& exit_code);

}  // namespace dequant::tools
