// Lists of modules in configurations: names, and patterns of names.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "format/checkpoint/patterns.h"
#include "format/checkpoint/section.h"
#include "format/checkpoint/shards.h"

namespace dequant::format::checkpoint {

class ModuleList {
 public:
  /// How a list has a module; later ones are more specific.
  enum class Match {
    no,
    may_be,  ///< by a class, or by a pattern whose syntax Patterns does not have
    pattern,
    name,
  };

  /// A list of names, of regular expressions behind "re:", and of classes, which only the model's
  /// code can resolve. An absent list is empty. Fails with malformed where the member is no list of
  /// strings, and with limit where patterns have more than 100,000 characters or need too much
  /// memory.
  static Result<ModuleList> expressions(const Section& section, std::string_view key);
  /// A list of names and wildcard patterns. Fails in the same way.
  static Result<ModuleList> wildcards(const Section& section, std::string_view key);

  Match find(std::string_view module) const;
  /// True for Match::pattern and Match::name.
  bool has(std::string_view module) const { return find(module) > Match::may_be; }

  /// For a list of modules that are not quantized: fails with malformed where it has the module of
  /// a quantized weight.
  Status check_absent(const Entry& weight, std::string_view module) const;

 private:
  using Add = Status (ModuleList::*)(const std::string& text);
  static Result<ModuleList> read(const Section& section, std::string_view key, Add add);
  Status add_expression(const std::string& text);
  Status add_wildcard(const std::string& text);
  /// Adds to the characters of all patterns.
  Status count(std::string_view pattern);

  std::unordered_set<std::string> names_;
  Patterns patterns_;
  size_t characters_ = 0;  ///< of all patterns
  bool may_be_ = false;
};

}  // namespace dequant::format::checkpoint
