// Printing a JSON document entry by entry.
#include "tools/json_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace dequant::tools {

using nlohmann::ordered_json;

std::string json_text(const ordered_json& value, size_t indent) {
  const std::string all = value.dump(2, ' ', false, ordered_json::error_handler_t::replace);
  std::string out;
  for (const char c : all) {
    out += c;
    if (c == '\n') out.append(indent, ' ');  // newlines within strings are escaped
  }
  return out;
}

ordered_json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

const char* before_entry(bool& first) { return std::exchange(first, false) ? "\n" : ",\n"; }

}  // namespace dequant::tools
