// Converting a model file in C.
#include <cstdlib>
#include <cstring>

#include "model_library/c_arguments.h"
#include "model_library/options.h"

namespace dequant::model_library {
namespace {

using Given = dequant_model_convert_options;

/// Everything but the threads.
Result<ConvertModelOptions> convert_options(const Given& given) {
  ConvertModelOptions out;
  DEQUANT_CHECK(c_api::check_struct("dequant_model_convert_options", &given));
  DEQUANT_CHECK(check_threads(given.threads));
  DEQUANT_TRY(out.options, options_of(given.options, given.option_count));
  DEQUANT_TRY(out.include, texts_of("include", given.include, given.include_count));
  DEQUANT_TRY(out.exclude, texts_of("exclude", given.exclude, given.exclude_count));
  DEQUANT_TRY(out.dtype, output_of("dtype", given.dtype));
  out.require_float = given.require_float != 0;
  out.dry_run = given.dry_run != 0;
  out.overwrite = given.overwrite != 0;
  DEQUANT_TRY(out.memory, memory_of(given.memory));
  out.structure_memory = given.structure_memory;
  if (given.progress == nullptr) return out;
  out.progress = [progress = given.progress, self = given.self](int64_t done, int64_t total) {
    return called("progress", [&] { return progress(self, done, total); });
  };
  return out;
}

/// Null: there is no memory.
char* copy_of(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

Status convert(const char* input, const char* output, const Given* given, char** report) {
  DEQUANT_TRY(const std::string from, text_of("input", input));
  DEQUANT_TRY(const std::string to, text_of("output", output));
  ConvertModelOptions options;
  if (given != nullptr) {
    DEQUANT_TRY(options, convert_options(*given));
  }
  ThreadPool pool(given == nullptr ? 0 : given->threads);
  options.executor = pool.executor();
  DEQUANT_TRY(const ModelConversion done, convert_model(from, to, options));
  if (report != nullptr) {
    *report = copy_of(done.json);
    if (*report == nullptr) return no_memory_for_report(options.dry_run);
  }
  return {};
}

}  // namespace
}  // namespace dequant::model_library

dequant_code dequant_model_convert(const char* input, const char* output,
                                   const dequant_model_convert_options* options, char** report,
                                   dequant_error* error) {
  if (report != nullptr) *report = nullptr;  // as of dequant_model_open
  return dequant::c_api::guarded(
      error, [&] { return dequant::model_library::convert(input, output, options, report); });
}

void dequant_text_free(char* text) { std::free(text); }
