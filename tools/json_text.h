// Printing a JSON document entry by entry.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dequant::tools {

/// The text of a value; all lines but the first are indented by `indent` spaces. Bytes that are not
/// UTF-8 are replaced, and characters that would do more than show on a terminal are escapes.
std::string json_text(const nlohmann::ordered_json& value, size_t indent = 0);

/// The same on one line.
std::string json_line(const nlohmann::ordered_json& value);

/// A number, or a string where JSON has none: "nan", "inf", "-inf".
nlohmann::ordered_json number(double value);

/// The text before the next entry of a list. `first` must be true before the first entry, and
/// becomes false.
const char* before_entry(bool& first);

}  // namespace dequant::tools
