// Choosing the histograms of a tensor for its charts.
#pragma once

#include "format/model/inspect.h"
#include "tools/inspect_chart.h"

namespace dequant::tools {

/// Bars of the values, at most 64.
Bars value_bars(const format::TensorInfo& n);

/// Bars of the codes: one for each code, or at most 64.
Bars code_bars(const format::TensorInfo& n);

/// Bars of the scales, at most 64, on a logarithmic axis where the largest scale is at least ten
/// times the least.
Bars scale_bars(const format::ScaleProfile& s);

}  // namespace dequant::tools
