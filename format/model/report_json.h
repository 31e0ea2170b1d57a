// The report of a conversion as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "format/model/report.h"

namespace dequant::format {

/// The report as `dequant convert --json` prints it, without the paths of the files. Names may be
/// no UTF-8: dump() then needs an error handler.
nlohmann::ordered_json to_json(const ConvertReport& report);
/// The same as text; bytes of names that are not UTF-8 are replaced. Members have lines of their
/// own, indented by so many spaces a level; -1: all is on one line.
std::string json_text(const ConvertReport& report, int indent);

/// The tasks of a conversion that several processes carry out.
nlohmann::ordered_json to_json(const ShareReport& share);
nlohmann::ordered_json to_json(const TaskReport& task);

nlohmann::ordered_json to_json(const Seconds& seconds);

/// A list of temporary files that were removed.
nlohmann::ordered_json to_json(const std::vector<Leftover>& cleaned);

}  // namespace dequant::format
