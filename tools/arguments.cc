// The interface of the command line's parser, by CLI11.
#include "tools/arguments.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "format/io/byte_size.h"
#include "tools/memory.h"

namespace dequant::tools {
namespace {

/// The integer type of an option's value; void for other options.
template <class T>
struct IntegerOf : std::conditional<std::is_integral_v<T>, T, void> {};
template <class T>
struct IntegerOf<std::optional<T>> : IntegerOf<T> {};
template <class T>
struct IntegerOf<std::vector<T>> : IntegerOf<T> {};
template <class T>
using Integer = typename IntegerOf<T>::type;

/// CLI11 reads "-1" as 2^64 - 1, "010" as 8, and numbers beyond the type as its largest. The text
/// becomes decimal; returns what is wrong with it.
template <class T>
std::string decimal(std::string& text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (problem != std::errc() || stop != end) {
    return '"' + text + "\" is no integer from " + std::to_string(std::numeric_limits<T>::min()) +
           " to " + std::to_string(std::numeric_limits<T>::max());
  }
  text = std::to_string(number);
  return {};
}

/// CLI11's own check takes "nan".
std::string wrong_positive(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  const bool good = problem == std::errc() && stop == end && std::isfinite(number) && number > 0;
  return good ? "" : '"' + text + "\" is no number above 0";
}

}  // namespace

Option Option::required() const { return option_->required(), *this; }

Option Option::type_name(const char* name) const { return option_->type_name(name), *this; }

Option Option::capture_default_str() const { return option_->capture_default_str(), *this; }

/// The help shows "..." where the parser takes several values of an option: here that is how often
/// the option may be given, which its words say.
Option Option::one_value() const {
  option_->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return option_->expected(1), *this;
}

Option Option::delimiter(char mark) const { return option_->delimiter(mark), *this; }

Option Option::check(std::string (*wrong)(const std::string&)) const {
  return option_->check(wrong), *this;
}

Option Option::one_of(std::vector<std::string> values) const {
  return option_->check(CLI::IsMember(std::move(values))), *this;
}

Option Option::between(int low, int high) const {
  return option_->check(CLI::Range(low, high)), *this;
}

Option Option::positive() const { return option_->check(wrong_positive), *this; }

Option Option::size() const {
  const auto digits = [](std::string& text) {
    const auto bytes = format::byte_size(text);
    if (!bytes) return '"' + text + "\" is not " + format::kByteSizes;
    text = std::to_string(*bytes);
    return std::string();
  };
  return option_->transform(CLI::Validator(digits, std::string())), *this;
}

Option Option::excludes(Option other) const { return option_->excludes(other.option_), *this; }

Option Option::needs(Option other) const { return option_->needs(other.option_), *this; }

Command Command::add_subcommand(const char* name, const char* what) const {
  return Command(*app_->add_subcommand(name, what));
}

void Command::require_subcommand() const { app_->require_subcommand(1); }

template <class T>
Option Command::add_option(const char* names, T& value, const char* what) const {
  CLI::Option* const option = app_->add_option(names, value, what);
  if constexpr (!std::is_void_v<Integer<T>>)
    option->transform(CLI::Validator(decimal<Integer<T>>, std::string()));
  return Option(*option);
}

Option Command::add_flag(const char* names, bool& value, const char* what) const {
  return Option(*app_->add_flag(names, value, what));
}

Option Command::get_option(const char* name) const { return Option(*app_->get_option(name)); }

void Command::footer(const char* text) const { app_->footer(text); }

void Command::callback(std::function<void()> run) const {
  app_->callback([command = std::move(run)] {
    begin_command();
    command();
  });
}

template Option Command::add_option(const char*, std::string&, const char*) const;
template Option Command::add_option(const char*, std::optional<std::string>&, const char*) const;
template Option Command::add_option(const char*, std::vector<std::string>&, const char*) const;
template Option Command::add_option(const char*, std::vector<uint64_t>&, const char*) const;
template Option Command::add_option(const char*, int&, const char*) const;
template Option Command::add_option(const char*, int64_t&, const char*) const;
template Option Command::add_option(const char*, uint64_t&, const char*) const;
template Option Command::add_option(const char*, std::optional<uint64_t>&, const char*) const;
template Option Command::add_option(const char*, double&, const char*) const;
template Option Command::add_option(const char*, std::optional<double>&, const char*) const;
template Option Command::add_option(const char*, std::optional<int64_t>&, const char*) const;

}  // namespace dequant::tools
