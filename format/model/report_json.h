// What a conversion reports, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "format/model/report.h"

namespace dequant::format {

/// The report as `dequant convert --json` prints it behind the names of the files. Names are as in
/// the file: those that are not UTF-8 want an error handler when the text is made.
nlohmann::ordered_json to_json(const ConvertReport& report);

/// Files that were removed.
nlohmann::ordered_json to_json(const std::vector<Leftover>& cleaned);

}  // namespace dequant::format
