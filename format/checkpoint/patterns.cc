// Patterns of module names by RE2.
#include "format/checkpoint/patterns.h"

#include <algorithm>
#include <string>
#include <vector>

#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

constexpr int64_t kMostMemory = int64_t{16} << 20;

re2::RE2::Options options() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(kMostMemory);
  return options;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

/// Where the class of a wildcard pattern ends that begins with `[`; npos: it is no class.
size_t end_of_class(std::string_view text, size_t begin) {
  size_t first = begin + 1;
  if (first < text.size() && text[first] == '!') ++first;
  return text.find(']', first + 1);  // a first ']' is a member
}

/// The class of RE2 for what a wildcard pattern has between `[` and `]`.
std::string class_of(std::string_view inside) {
  std::string out = "[";
  if (inside.starts_with('!')) {
    out += '^';
    inside.remove_prefix(1);
  }
  for (const char c : inside) {
    if (c == '\\' || c == '[' || c == ']' || c == '^') out += '\\';
    out += c;
  }
  return out + ']';
}

}  // namespace

Patterns::Patterns() : set_(options(), re2::RE2::ANCHOR_START) {}

bool Patterns::add_regex(std::string_view text) {
  // In Python `a{,2}` is a repetition, and `[[:alpha:]]` no class of letters.
  if (text.find("{,") != text.npos || text.find("[:") != text.npos) return false;
  const bool added = set_.Add(piece(text), nullptr) >= 0;
  is_empty_ = is_empty_ && !added;
  return added;
}

bool Patterns::add_search(std::string_view text) {
  // Brackets around "a)|(b", which is no expression, would make it one.
  if (!re2::RE2(piece(text), options()).ok()) return false;
  return add_regex(fmt::format("(?s:.*?)(?:{})", text));
}

bool Patterns::add_wildcard(std::string_view text) {
  std::string expression = "(?s)";
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const size_t end = c == '[' ? end_of_class(text, at) : text.npos;
    if (c == '*') {
      expression += ".*";
    } else if (c == '?') {
      expression += '.';
    } else if (end != text.npos) {
      expression += class_of(text.substr(at + 1, end - at - 1));
      at = end;
    } else {
      expression += re2::RE2::QuoteMeta(piece(text.substr(at, 1)));
    }
  }
  return add_regex(expression + "\\z");
}

Status Patterns::compile() {
  re2::RE2::Set::ErrorInfo info{};
  if (set_.Compile()) {
    // Memory that is not enough for any name is not enough for this one.
    set_.Match("", nullptr, &info);
    if (info.kind != re2::RE2::Set::kOutOfMemory) return {};
  }
  return failure(ErrorCode::limit, "patterns of names need more than {} bytes of memory",
                 kMostMemory);
}

bool Patterns::matches(std::string_view name) const {
  return !is_empty_ && set_.Match(piece(name), nullptr);
}

std::optional<size_t> Patterns::first(std::string_view name) const {
  std::vector<int> all;
  if (is_empty_ || !set_.Match(piece(name), &all)) return {};
  return static_cast<size_t>(*std::min_element(all.begin(), all.end()));
}

}  // namespace dequant::format::checkpoint
