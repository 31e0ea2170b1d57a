// Converting a model file for users of C++.
#include "format/model/convert.h"

#include <new>
#include <utility>

#include "dequant/model.h"
#include "format/formats.h"
#include "format/model/float_environment.h"
#include "format/model/report_json.h"
#include "model_library/options.h"

namespace dequant {

Result<ModelConversion> convert_model(const std::string& input, const std::string& output,
                                      const ConvertModelOptions& options) {
  const format::FloatEnvironment environment;
  DEQUANT_TRY(const auto converted, model_library::convert_options(options));
  DEQUANT_TRY(format::ConvertReport report,
              format::convert(format::formats(), input, output, converted));
  ModelConversion out;
  out.converted = report.converted.size();
  out.left = report.left.size();
  try {
    out.json = format::json_text(report, 2);
  } catch (const std::bad_alloc&) {
    return model_library::no_memory_for_report(options.dry_run);
  }
  out.warnings = std::move(report.warnings);
  return out;
}

}  // namespace dequant
