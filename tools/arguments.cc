// The interface of the command line's parser, by CLI11.
#include "tools/arguments.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <utility>

#include "tools/memory.h"

namespace dequant::tools {

Option Option::required() const { return option_->required(), *this; }

Option Option::type_name(const char* name) const { return option_->type_name(name), *this; }

Option Option::capture_default_str() const { return option_->capture_default_str(), *this; }

Option Option::one_value() const { return option_->allow_extra_args(false), *this; }

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

Option Option::positive() const { return option_->check(CLI::PositiveNumber), *this; }

Option Option::size() const { return option_->transform(CLI::AsSizeValue(false)), *this; }

Option Option::excludes(Option other) const { return option_->excludes(other.option_), *this; }

Option Option::needs(Option other) const { return option_->needs(other.option_), *this; }

Command Command::add_subcommand(const char* name, const char* what) const {
  return Command(*app_->add_subcommand(name, what));
}

void Command::require_subcommand() const { app_->require_subcommand(1); }

template <class T>
Option Command::add_option(const char* names, T& value, const char* what) const {
  return Option(*app_->add_option(names, value, what));
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
