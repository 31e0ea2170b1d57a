// The report of the conversion of a checkpoint.
#pragma once

#include "format/checkpoint/layout.h"
#include "format/checkpoint/other_files.h"
#include "format/checkpoint/special_scales.h"
#include "format/model/report.h"

namespace dequant::format::checkpoint {

/// What a conversion with this layout does. Lacks the times. Fails as Groups::warnings() does.
Result<ConvertReport> describe(const Groups& groups, const Layout& layout,
                               const OtherFiles& others);

/// Adds what the scales of its tensors have, with warnings.
void add_special_scales(std::span<const SpecialScales> found, ConvertReport& report);

}  // namespace dequant::format::checkpoint
