// The options of dequant/model.h as those of format/model.
#pragma once

#include "dequant/model.h"
#include "format/model/convert.h"

namespace dequant::model_library {

/// Fails with invalid_argument for an option that is given twice, and for a negative limit.
Result<format::OpenOptions> open_options(const OpenModelOptions& options);

/// Fails as open_options() does, and for a type that is no output.
Result<format::ConvertOptions> convert_options(const ConvertModelOptions& options);

/// The error of a conversion that has succeeded, but for its report.
Error no_memory_for_report(bool dry_run);

format::StreamOptions stream_options(const ReadModelOptions& options);

}  // namespace dequant::model_library
