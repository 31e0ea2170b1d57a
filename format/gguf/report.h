// The report of the conversion of a GGUF model.
#pragma once

#include "format/gguf/layout.h"
#include "format/model/report.h"

namespace dequant::format::gguf {

/// What a conversion with this layout does.
ConvertReport report_of(const Parts& parts, const Uses& uses, const Layout& layout, Target target,
                        Names names);

}  // namespace dequant::format::gguf
