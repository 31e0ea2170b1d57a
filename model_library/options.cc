// The options of dequant/model.h as those of format/model.
#include "model_library/options.h"

#include "format/io/errors.h"
#include "format/model/float_environment.h"

namespace dequant::model_library {

Result<format::OpenOptions> open_options(const OpenModelOptions& options) {
  format::OpenOptions out;
  if (options.structure_memory < 0) {
    return format::failure(ErrorCode::invalid_argument, "structure_memory: {} is negative",
                           options.structure_memory);
  }
  out.memory = options.structure_memory;
  for (const ModelOption& option : options.options) {
    if (out.own.has(option.name)) {
      return format::failure(ErrorCode::invalid_argument, "option {}: given twice",
                             format::escaped(option.name));
    }
    out.own.set(option.name, option.value);
  }
  return out;
}

Result<format::ConvertOptions> convert_options(const ConvertModelOptions& options) {
  format::ConvertOptions out;
  DEQUANT_TRY(out.open, open_options({options.options, options.structure_memory}));
  const auto& dtype = options.dtype;
  if (dtype && !is_output(*dtype)) {
    return format::failure(ErrorCode::invalid_argument,
                           "dtype: {}, not float32, float16 or bfloat16", name(*dtype));
  }
  out.write.selection = {options.include, options.exclude};
  out.write.dtype = dtype;
  out.write.require_float = options.require_float;
  out.write.dry_run = options.dry_run;
  out.write.overwrite = options.overwrite ? format::Overwrite::replace : format::Overwrite::refuse;
  out.write.stream.memory = options.memory;
  out.write.stream.executor = options.executor;
  if (options.progress) {
    out.write.progress = [progress = options.progress](int64_t done, int64_t total) {
      const format::FloatEnvironment environment;  // the function may leave another one behind
      return progress(done, total);
    };
  }
  return out;
}

Error no_memory_for_report(bool dry_run) {
  return {ErrorCode::out_of_memory,
          dry_run ? "out of memory for the report"
                  : "the output is in place, but there is no memory for its report"};
}

format::StreamOptions stream_options(const ReadModelOptions& options) {
  format::StreamOptions out;
  out.memory = options.memory;
  out.executor = options.executor;
  return out;
}

}  // namespace dequant::model_library
