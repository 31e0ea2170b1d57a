// The parser of the command line, as the subcommands see it. CLI11 does the work, and costs each
// file that includes it ten seconds of compilation: only arguments.cc and main.cc do.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dequant::tools {

/// An option of a command. A handle: copies are the same option.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  /// What the help shows in place of the value.
  Option type_name(const char* name) const;
  /// The help shows what the variable holds by now.
  Option capture_default_str() const;
  /// A vector takes one value for each time that the option is given.
  Option one_value() const;
  /// A vector also takes several values at once, with this between them.
  Option delimiter(char mark) const;
  /// The function says what is wrong with a value; an empty string means nothing.
  Option check(std::string (*wrong)(const std::string&)) const;
  Option one_of(std::vector<std::string> values) const;
  Option between(int low, int high) const;
  Option positive() const;
  /// Sizes as in 512Mi and 1Gi.
  Option size() const;
  Option excludes(Option other) const;
  Option needs(Option other) const;

 private:
  CLI::Option* option_;
};

/// A command to which options and subcommands are added. A handle: copies are the same command.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const char* name, const char* what) const;
  void require_subcommand() const;
  /// The types that values can have are listed at the end of arguments.cc.
  template <class T>
  Option add_option(const char* names, T& value, const char* what) const;
  Option add_flag(const char* names, bool& value, const char* what) const;
  /// An option that was added before.
  Option get_option(const char* name) const;
  /// The text that follows the options in the help.
  void footer(const char* text) const;
  /// What the command does when it is chosen.
  void callback(std::function<void()> run) const;

 private:
  CLI::App* app_;
};

}  // namespace dequant::tools
