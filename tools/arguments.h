// The interface of the command line's parser for subcommands. It hides CLI11, which adds ten
// seconds of compilation to each file that includes it: only arguments.cc and main.cc do.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dequant::tools {

/// A handle of an option of a command; copies refer to the same option. All functions return *this.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  /// The name of the value in the help.
  Option type_name(const char* name) const;
  /// Shows the present value of the variable in the help as the default.
  Option capture_default_str() const;
  /// For a vector: the option has one value, and may be given several times.
  Option one_value() const;
  /// For a vector: one argument may have several values, separated by this character.
  Option delimiter(char mark) const;
  /// Checks values: the function returns what is wrong with a value, or an empty string.
  Option check(std::string (*wrong)(const std::string&)) const;
  Option one_of(std::vector<std::string> values) const;
  Option between(int low, int high) const;
  Option positive() const;
  /// Allows suffixes as in 512Mi and 5G: Mi is 2^20, and M 10^6.
  Option size() const;
  Option excludes(Option other) const;
  Option needs(Option other) const;

 private:
  CLI::Option* option_;
};

/// A handle of a command, to which options and subcommands are added; copies refer to the same
/// command.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const char* name, const char* what) const;
  void require_subcommand() const;
  /// Adds an option that sets `value`. The end of arguments.cc lists the types of values.
  template <class T>
  Option add_option(const char* names, T& value, const char* what) const;
  Option add_flag(const char* names, bool& value, const char* what) const;
  /// The option of that name, which must have been added.
  Option get_option(const char* name) const;
  /// Sets the text behind the options in the help.
  void footer(const char* text) const;
  /// Sets the function that runs when the command is chosen.
  void callback(std::function<void()> run) const;

 private:
  CLI::App* app_;
};

}  // namespace dequant::tools
