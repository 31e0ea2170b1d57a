// Which histogram of a tensor serves.
#pragma once

#include "format/model/inspect.h"
#include "tools/inspect_chart.h"

namespace dequant::tools {

/// At most 64 bars.
Bars value_bars(const format::TensorInfo& n);

/// One for each code, or at most 64.
Bars code_bars(const format::TensorInfo& n);

/// At most 64 bars, on a logarithmic axis where the largest scale is ten times the least.
Bars scale_bars(const format::ScaleProfile& s);

}  // namespace dequant::tools
