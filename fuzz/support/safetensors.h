// Files of the safetensors format from numbers, and a naive reader of their headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/json/json.h"
#include "fuzz/support/cursor.h"

namespace dequant::fuzz {

/// The bytes of a file. Either the rest of the input is its text or all of it, or entries that are
/// mostly right are made of it, in any order and spelling.
std::string safetensors_file(Cursor& cursor);

/// The document of the header, if the file is as the specification and header.h say. Reads the
/// whole text at once.
std::optional<nlohmann::json> safetensors_document(std::string_view file);

}  // namespace dequant::fuzz
