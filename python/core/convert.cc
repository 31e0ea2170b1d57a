// dequant.convert().
#include "format/model/convert.h"

#include <optional>
#include <string>

#include "format/formats.h"
#include "format/model/report_json.h"
#include "python/core/call.h"
#include "python/core/conversion.h"
#include "python/core/model.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

using format::ConvertOptions;
using format::ConvertReport;

std::vector<std::string> globs(const char* parameter, nb::handle list) {
  std::vector<std::string> out;
  for (const nb::handle glob : list) out.push_back(from_text(parameter, glob));
  return out;
}

/// `own` has options that only some formats have: names as on the command line -> texts.
/// `contents` and `folder` as of bytes_of(); with these `input` is a name for messages. Returns the
/// report as JSON, and the output where `output` is None.
nb::tuple convert(nb::handle input, nb::handle contents, nb::handle folder, nb::handle output,
                  nb::dict own, nb::handle dtype, bool clean_temp, nb::handle include,
                  nb::handle exclude, bool overwrite, bool dry_run, bool require_float,
                  nb::handle threads, nb::handle mem, nb::handle progress) {
  ThreadPool pool(threads_of(threads));
  ConvertOptions options;
  options.open.bytes = bytes_of(contents, folder);
  for (const auto& [name, value] : own) {
    const std::string key = from_text("own", name);
    options.open.own.set(key, from_text(key.c_str(), value));
  }
  options.clean_temp = clean_temp;
  options.write.dtype = output_of("dtype", dtype);
  options.write.dry_run = dry_run;
  options.write.require_float = require_float;
  options.write.selection = {globs("include", include), globs("exclude", exclude)};
  options.write.overwrite = overwrite ? format::Overwrite::replace : format::Overwrite::refuse;
  options.write.stream.executor = pool.executor();
  if (!mem.is_none()) {
    options.open.memory = integer("mem", mem);
    options.write.stream.memory = options.open.memory;
  }
  std::optional<std::string> to;
  if (!output.is_none()) to = path_of(output);
  Conversion conversion(std::move(options), !to,
                        [from = path_of(input), to = to.value_or("")](const ConvertOptions& o) {
                          return format::convert(format::formats(), from, to, o);
                        });
  const std::string text = format::json_text(conversion.listen(progress), -1);
  return nb::make_tuple(nb::str(text.data(), text.size()), conversion.written());
}

}  // namespace

void add_convert(nb::module_& core) {
  core.def("convert", convert, "input"_a, "contents"_a.none(), "folder"_a.none(), "output"_a.none(),
           "own"_a, "dtype"_a.none(), "clean_temp"_a, "include"_a, "exclude"_a, "overwrite"_a,
           "dry_run"_a, "require_float"_a, "threads"_a.none(), "mem"_a.none(), "progress"_a.none());
}

}  // namespace dequant::python
