// JSON that is printed piece by piece.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace dequant::tools {

/// The text of a value whose lines but the first are moved in by so many spaces. What is no UTF-8
/// is replaced.
std::string json_text(const nlohmann::ordered_json& value, size_t indent);

/// What stands before the next entry of a list; `first` is true before its first.
const char* before_entry(bool& first);

}  // namespace dequant::tools
