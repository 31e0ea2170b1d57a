// Members that case files and result files have in common.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "conformance/cases/cases.h"
#include "dequant/status.h"

namespace dequant::conformance {

/// Fails with malformed unless the document is an object with this format, the version 1 and an
/// array `list`, and has no other members but "about". `kind` is what messages call such a file.
Status check_frame(const nlohmann::json& root, std::string_view kind, std::string_view format,
                   std::string_view list);

/// The text of "about", empty where there is none. Fails with malformed where it is no text.
Result<std::string> parse_about(const nlohmann::json& root);

/// Fails with malformed where a member is missing, unknown or of another type.
Result<CaseTensor> parse_tensor(const nlohmann::json& value);

}  // namespace dequant::conformance
