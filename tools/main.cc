// The `dequant` command: parses the command line and runs a subcommand.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "dequant/dequant.hpp"
#include "format/io/errors.h"
#include "format/io/unfinished.h"
#include "tools/commands.h"
#include "tools/memory.h"

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
  // Does not throw and does not allocate: memory may be exhausted, and standard error closed.
  const char* const advice = error.system == EEXIST      ? "; --force replaces it"
                             : error.system == ENOTEMPTY ? "; --force writes into it"
                                                         : "";
  std::fprintf(stderr, "dequant: error: %s%s\n", error.message.c_str(), advice);
  return exit_code(error.code);
}

namespace {

/// Opens a folder for each standard stream that is closed. Otherwise a file that is opened later
/// would get the number of that stream, and printed text would go into the file. Writing to a
/// folder fails.
void occupy_closed_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/", O_RDONLY | O_DIRECTORY) < 0) return;
  }
}

/// Ignores SIGPIPE and SIGXFSZ: a write to a closed pipe, or beyond the limit of file sizes, then
/// fails, and the command ends with a message and an exit code.
void ignore_signals_of_writes() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

/// Ends as programs do whose output nobody reads any more, such as `dequant inspect M | head`: by
/// the signal, without a message. Returns after other errors.
void end_at_closed_pipe(int error) {
  if (error != EPIPE) return;
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

/// Bytes of stack: commands use about 200 KiB, and threads that are started have all of theirs.
constexpr size_t kStackBytes = size_t{512} << 10;
/// What main() and the system may have on the stack already.
constexpr size_t kStackMargin = size_t{64} << 10;

/// Raises the limit of the stack to what the commands need, or fails with out_of_memory.
Status raise_stack_limit() {
  struct rlimit limit {};
  constexpr rlim_t kNeeded = kStackBytes + kStackMargin;
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return {};
  const rlim_t before = std::exchange(limit.rlim_cur, std::min(kNeeded, limit.rlim_max));
  if (limit.rlim_cur == kNeeded && ::setrlimit(RLIMIT_STACK, &limit) == 0) return {};
  return format::failure(ErrorCode::out_of_memory,
                         "the stack is limited to {} KiB, and dequant needs {} (ulimit -s)",
                         before >> 10, kNeeded >> 10);
}

/// Raises the limit of open files, often 1024, to what the system allows: all files of a checkpoint
/// are open at once.
void raise_file_limit() {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // where that fails, an error of opening has the advice
}

/// Makes the stack as deep as the commands need: where memory is exhausted the system cannot extend
/// it later, and ends the process by SIGSEGV.
[[gnu::noinline]] void deepen_stack() {
  constexpr size_t kPage = size_t{4} << 10;
  std::array<volatile char, kStackBytes> pages;
  for (size_t i = 0; i < kStackBytes; i += kPage) pages[i] = 0;
}

/// Signals that end the command remove unfinished files. A signal that the parent process has set
/// to be ignored, as nohup does, stays ignored.
void clean_up_at_signals() {
  struct sigaction cleaning {};
  cleaning.sa_handler = format::end_by_signal;
  cleaning.sa_flags = SA_RESTART;
  ::sigemptyset(&cleaning.sa_mask);
  constexpr std::array kNumbers{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
  for (const int number : kNumbers) ::sigaddset(&cleaning.sa_mask, number);
  for (const int number : kNumbers) {
    struct sigaction found {};
    if (::sigaction(number, nullptr, &found) == 0 && found.sa_handler == SIG_DFL)
      ::sigaction(number, &cleaning, nullptr);
  }
}

std::vector<CLI::App*> all_subcommands(CLI::App& app) {
  return app.get_subcommands([](CLI::App*) { return true; });
}

CLI::App* subcommand(CLI::App& app, std::string_view name) {
  const auto found = app.get_subcommands([&](CLI::App* c) { return c->get_name() == name; });
  return found.empty() ? nullptr : found[0];
}

/// A better message for an unknown command than the parser's.
Status check_commands(CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  CLI::App* command = subcommand(app, argv[1]);
  if (command == nullptr) {
    return format::failure(ErrorCode::invalid_argument, "no command {}; dequant --help lists them",
                           format::escaped(argv[1]));
  }
  if (all_subcommands(*command).empty()) return {};
  if (argc > 2 && (argv[2][0] == '-' || subcommand(*command, argv[2]) != nullptr)) return {};
  return format::failure(ErrorCode::invalid_argument, "no dialect{}; dequant {} --help lists them",
                         argc > 2 ? " " + format::escaped(argv[2]) : "", argv[1]);
}

/// Refuses "--option=" without a value, as of an empty variable of a shell: the parser would take
/// the next argument for the value.
Status check_values(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") break;  // the rest are names of files
    if (!word.starts_with("--") || !word.ends_with('=') || word.find('=') + 1 != word.size())
      continue;
    return format::failure(ErrorCode::invalid_argument, "{} has no value",
                           format::escaped(word.substr(0, word.size() - 1)));
  }
  return {};
}

/// Refuses an unknown name in the environment variable, which the library would ignore.
Status check_target() {
  const char* const wanted = std::getenv("DEQUANT_FORCE_TARGET");
  if (wanted == nullptr || *wanted == '\0') return {};
  const Status forced = force_target(wanted);
  if (forced) return {};
  return format::failure(forced.error().code, "DEQUANT_FORCE_TARGET: {}",
                         format::escaped(forced.error().message, std::string::npos));
}

/// Dialects have most of the options that there are: to prepare them takes 2 ms, and all else of
/// `dequant --version` 4 ms.
bool names_op(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](std::string_view word) { return word == "op"; });
}

/// The parser's message. It lists arguments that were not expected from the last to the first; here
/// they are in the order in which they were given.
std::string words_of(const CLI::App& app, const CLI::Error& e) {
  if (e.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return e.what();
  const std::vector<std::string> extras = app.remaining(true);
  return fmt::format("The following argument{} not expected: {}",
                     extras.size() > 1 ? "s were" : " was", fmt::join(extras, " "));
}

int run_command(int argc, char** argv) {
  CLI::App app{"Turns quantized numbers back into floats, exactly."};
  app.name("dequant");
  app.require_subcommand(1);
  app.set_version_flag("--version", "dequant " DEQUANT_VERSION);
  app.failure_message([](const CLI::App* parsed, const CLI::Error& e) {
    const std::string message = format::escaped(words_of(*parsed, e), std::string::npos);
    return fmt::format("dequant: error: {}\nRun with --help for more information.\n", message);
  });
  int code = kDone;
  Command command(app);
  add_inspect(command, code);
  add_convert(command, code);
  add_diff(command, code);
  add_plan(command, code);
  add_finalize(command, code);
  add_verify(command, code);
  add_extract(command, code);
  add_run(command, code);
  add_op(command, names_op(argc, argv), code);
  add_check(command, code);
  add_vectors(command, code);
  add_bench(command, code);
  if (const Status known = check_commands(app, argc, argv); !known) return report(known.error());
  if (const Status valued = check_values(argc, argv); !valued) return report(valued.error());
  if (const Status forced = check_target(); !forced) return report(forced.error());
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (app.exit(e) != 0) return kUsage;
  } catch (const std::bad_alloc&) {  // caught while the options, and so the file's name, exist
    return report_no_memory();
  }
  // Results that could not be printed are an error.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    end_at_closed_pipe(errno);
    const int of_error = report({ErrorCode::io, "cannot write to standard output"});
    return code == kDone ? of_error : code;
  }
  return code;
}

}  // namespace
}  // namespace dequant::tools

int main(int argc, char** argv) {
  if (const auto stack = dequant::tools::raise_stack_limit(); !stack)
    return dequant::tools::report(stack.error());
  dequant::tools::raise_file_limit();
  dequant::tools::deepen_stack();
  dequant::tools::occupy_closed_streams();
  dequant::tools::ignore_signals_of_writes();
  dequant::tools::clean_up_at_signals();
  try {
    return dequant::tools::run_command(argc, argv);
  } catch (const std::bad_alloc&) {
    return dequant::tools::report({dequant::ErrorCode::out_of_memory, "out of memory"});
  } catch (const std::system_error& e) {
    // Printing throws it, with a message that does not name the stream.
    const bool printing = std::ferror(stdout) != 0;
    if (printing) dequant::tools::end_at_closed_pipe(e.code().value());
    return dequant::tools::report(
        {dequant::ErrorCode::io,
         printing ? "cannot write to standard output: " + e.code().message() : e.what()});
  } catch (const std::exception& e) {
    return dequant::tools::report({dequant::ErrorCode::io, e.what()});
  }
}
