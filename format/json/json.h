// Strict parsing of JSON, and reading the values of its members. Errors say where the text is
// wrong; no message names the file.
#pragma once

#include <fmt/ranges.h>

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dequant/status.h"
#include "format/io/errors.h"

namespace dequant::format {

/// Parses a text. Fails with malformed on text that is not JSON, on an object with the same key
/// twice, and on nesting of more than 32 levels.
Result<nlohmann::json> parse_json(std::string_view text);

/// Members that an object may have where these keep their order.
inline constexpr size_t kMostOrderedMembers = 10'000;

/// The same, but objects keep the order of their members. Also fails with malformed on an object of
/// more than kMostOrderedMembers members.
Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text);

/// The same for a text of Python's json module, which has the words NaN, Infinity and -Infinity for
/// floats that are no numbers of JSON.
Result<nlohmann::ordered_json> parse_python_json(std::string_view text);

/// The document as text of Python's json module: parse_python_json() reads the same document from
/// it. Objects and arrays have a line for each member, indented by two spaces a level. Demands that
/// strings are UTF-8.
std::string python_json(const nlohmann::ordered_json& document);

/// The value as escaped text for a message.
std::string shown(const nlohmann::json& value);

/// The member of that name, or null.
const nlohmann::json* member(const nlohmann::json& object, std::string_view key);

/// Fails with malformed unless the value is an object that has only these keys.
Status check_object(const nlohmann::json& value, std::initializer_list<std::string_view> keys);

/// The string of a key. Fails with malformed where there is none.
Result<std::string> text_member(const nlohmann::json& object, std::string_view key);

/// An error with the code malformed.
template <class... Args>
Error bad(fmt::format_string<Args...> text, Args&&... args) {
  return failure(ErrorCode::malformed, text, std::forward<Args>(args)...);
}

/// The value as an integer of 64 bits. Fails with malformed for all other values; 2.0 is no
/// integer.
template <class T>
Result<T> integer(const nlohmann::json& value) {
  constexpr bool kSigned = std::is_signed_v<T>;
  const bool fits = value.is_number_unsigned()
                        ? !kSigned || value.get<uint64_t>() <= uint64_t{INT64_MAX}
                        : kSigned && value.is_number_integer();
  if (fits) return value.get<T>();
  return bad("{} is not {} integer of 64 bits", shown(value), kSigned ? "a signed" : "an unsigned");
}

/// An array of integers. Fails with malformed where it is none; messages begin with `what`.
template <class T>
Result<std::vector<T>> integers_of(const nlohmann::json& list, std::string_view what) {
  if (!list.is_array()) return bad("{}: {} is not an array", what, shown(list));
  std::vector<T> out;
  for (const nlohmann::json& value : list) {
    auto number = integer<T>(value);
    if (!number) return in(fmt::format("{}[{}]", what, out.size()), std::move(number).error());
    out.push_back(*number);
  }
  return out;
}

/// The array of integers of a key. Fails with malformed where there is none.
template <class T>
Result<std::vector<T>> integers(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json* list = member(object, key);
  if (list == nullptr) return bad("there is no \"{}\"", key);
  return integers_of<T>(*list, key);
}

}  // namespace dequant::format
