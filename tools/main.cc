// The `dequant` command: parses the command line and hands over to a subcommand.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "dequant/dequant.h"
#include "tools/commands.h"

namespace dequant::tools {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return kUsage;
    case ErrorCode::malformed:
    case ErrorCode::limit: return kMalformed;
    case ErrorCode::unsupported: return kUnsupported;
    case ErrorCode::io: return kIo;
    case ErrorCode::out_of_memory: return kMemory;
  }
  return kUsage;
}

int report(const Error& error) {
  fmt::print(stderr, "dequant: error: {}\n", error.message);
  return exit_code(error.code);
}

namespace {

int run_command(int argc, char** argv) {
  CLI::App app{"Turns quantized numbers back into floats, exactly."};
  app.name("dequant");
  app.require_subcommand(1);
  app.set_version_flag("--version", "dequant " DEQUANT_VERSION);
  int code = kDone;
  add_inspect(app, code);
  add_convert(app, code);
  add_extract(app, code);
  add_run(app, code);
  add_check(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kDone : kUsage;
  }
  // Results that never reached their reader are not a success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    const Error error{ErrorCode::io, "cannot write to standard output"};
    return code == kDone ? report(error) : code;
  }
  return code;
}

}  // namespace
}  // namespace dequant::tools

int main(int argc, char** argv) {
  try {
    return dequant::tools::run_command(argc, argv);
  } catch (const std::bad_alloc&) {
    return dequant::tools::report({dequant::ErrorCode::out_of_memory, "out of memory"});
  } catch (const std::exception& e) {
    return dequant::tools::report({dequant::ErrorCode::io, e.what()});
  }
}
