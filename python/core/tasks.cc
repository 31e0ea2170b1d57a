// dequant.plan(), run_task() and finalize(): a conversion that several processes carry out.
#include <string>

#include "format/formats.h"
#include "format/model/conversion.h"
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
using format::ShareOptions;

nb::str text_of(const ConvertReport& report) {
  const std::string text = format::json_text(report, -1);
  return nb::str(text.data(), text.size());
}

/// `conversion` is the text that plan() gave.
format::Conversion read_conversion(nb::handle conversion) {
  return checked(format::read_conversion(from_text("conversion", conversion)));
}

void set_memory(nb::handle mem, ConvertOptions& options) {
  if (mem.is_none()) return;
  options.open.memory = integer("mem", mem);
  options.write.stream.memory = options.open.memory;
}

/// Lists the tasks of a conversion, to be read from `conversion` but for its dtype. Returns the
/// text of the conversion, and the report as JSON. `fetched`: of class Conversion, here and below.
nb::tuple plan(nb::handle conversion, nb::handle dtype, nb::handle output, nb::handle mem,
               nb::handle fetched) {
  format::Conversion all = read_conversion(conversion);
  all.options.write.dtype = output_of("dtype", dtype);
  set_memory(mem, all.options);
  const std::string text = checked(format::conversion_text(all.input, all.options));
  Conversion running(
      std::move(all.options), false,
      [from = all.input, to = path_of(output)](const ConvertOptions& o) {
        return format::convert(format::formats(), from, to, o);
      },
      fetched);
  return nb::make_tuple(nb::str(text.data(), text.size()), text_of(running.listen(nb::none())));
}

/// Carries out the task of that number. `input`: None, or the path of the input in place of that in
/// `conversion`, whose text the output then has. Returns the report as JSON.
nb::str run_task(nb::handle conversion, nb::handle output, int64_t task, nb::handle fingerprint,
                 bool overwrite, nb::handle threads, nb::handle mem, nb::handle progress,
                 nb::handle input, nb::handle fetched) {
  ThreadPool pool(threads_of(threads));
  format::Conversion all = read_conversion(conversion);
  set_memory(mem, all.options);
  format::WriteOptions& write = all.options.write;
  write.stream.executor = pool.executor();
  write.overwrite = overwrite ? format::Overwrite::replace : format::Overwrite::refuse;
  ShareOptions& share = *write.share;
  share.step = ShareOptions::Step::run;
  share.task = task;
  share.fingerprint = from_text("fingerprint", fingerprint);
  if (!input.is_none()) {
    all.input = path_of(input);
    share.conversion = from_text("conversion", conversion);
  }
  Conversion running(
      std::move(all.options), false,
      [from = all.input, to = path_of(output)](const ConvertOptions& o) {
        return format::convert(format::formats(), from, to, o);
      },
      fetched);
  return text_of(running.listen(progress));
}

/// Completes an output. Returns the report as JSON.
nb::str finalize(nb::handle output, nb::handle input, bool verify, nb::handle progress,
                 nb::handle fetched) {
  format::FinalizeOptions options;
  if (!input.is_none()) options.input = path_of(input);
  options.read_again = verify;
  Conversion running(
      {}, false,
      [options, to = path_of(output)](const ConvertOptions& o) {
        format::FinalizeOptions own = options;
        own.progress = o.write.progress;
        return format::finalize(format::formats(), to, own);
      },
      fetched);
  return text_of(running.listen(progress));
}

}  // namespace

void add_tasks(nb::module_& core) {
  core.def("plan", plan, "conversion"_a, "dtype"_a.none(), "output"_a, "mem"_a.none(),
           "fetched"_a.none());
  core.def("run_task", run_task, "conversion"_a, "output"_a, "task"_a, "fingerprint"_a,
           "overwrite"_a, "threads"_a.none(), "mem"_a.none(), "progress"_a.none(), "input"_a.none(),
           "fetched"_a.none());
  core.def("finalize", finalize, "output"_a, "input"_a.none(), "verify"_a, "progress"_a.none(),
           "fetched"_a.none());
}

}  // namespace dequant::python
