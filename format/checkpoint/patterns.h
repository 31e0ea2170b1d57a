// Patterns of module names in configurations: Python's regular expressions and wildcards.
#pragma once

#include <re2/set.h>

#include <optional>
#include <string_view>

#include "dequant/status.h"

namespace dequant::format::checkpoint {

/// The names that one of many patterns matches, by RE2: a match takes time in proportion to the
/// length of the name, whatever the number of patterns, and limited memory.
class Patterns {
 public:
  /// Characters that the patterns of one configuration may have in all.
  static constexpr size_t kMostCharacters = 100'000;

  Patterns();

  /// Adds a regular expression, read as Python's `re.match` reads it: it matches the beginning of a
  /// name. Classes such as `\d` have ASCII characters only. False, and nothing added, for what RE2
  /// does not have, such as look-ahead, and for what it reads in another way.
  bool add_regex(std::string_view text);

  /// The same, read as `re.search` reads it: it matches any part of a name.
  bool add_search(std::string_view text);

  /// Adds a wildcard pattern as Python's `fnmatch` reads it: `*`, `?`, `[...]`, `[!...]`. It
  /// matches a whole name. False, and nothing added, for a range whose ends are in the wrong order.
  bool add_wildcard(std::string_view text);

  /// To be called once, after the last pattern and before the first match. Fails with limit.
  Status compile();

  bool matches(std::string_view name) const;

  /// The first pattern that matches: the number of patterns that were added before it.
  std::optional<size_t> first(std::string_view name) const;

 private:
  re2::RE2::Set set_;
  bool is_empty_ = true;
};

}  // namespace dequant::format::checkpoint
