#include "tools/terminal_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace dequant::tools {
namespace {

/// Columns of a terminal that does not say how many it has.
constexpr std::size_t kUsualColumns = 80;

bool erases_lines() {
  const char* const term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

}  // namespace

TerminalLine::TerminalLine() : terminal_(::isatty(STDERR_FILENO) != 0 && erases_lines()) {}

TerminalLine::~TerminalLine() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}

std::size_t TerminalLine::width() const {
  if (!terminal_) return 0;
  struct winsize size {};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return (known ? size.ws_col : kUsualColumns) - 1;  // some wrap once the last column is written
}

void TerminalLine::show(std::string_view text) {
  if (!terminal_) return;
  shown_ = true;
  fmt::print(stderr, "\r{}\033[K", text.substr(0, width()));
  std::fflush(stderr);
}

}  // namespace dequant::tools
