// A line on a terminal that is written anew as work goes on.
#pragma once

#include <cstddef>
#include <string_view>

namespace dequant::tools {

/// A line of ASCII on standard error. Nothing is written where that is no terminal, or one that
/// does not erase lines (TERM is "dumb" or not set).
class TerminalLine {
 public:
  TerminalLine();
  ~TerminalLine();
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  /// How many characters the line may have now; 0: it is not written.
  std::size_t width() const;
  /// Replaces the line, cut to its width: a line that wraps would stay.
  void show(std::string_view text);

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace dequant::tools
