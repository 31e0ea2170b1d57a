// `dequant diff`: compares the tensors of two model files.
#include "format/diff/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "format/formats.h"
#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/diff_report.h"
#include "tools/memory.h"
#include "tools/reading_options.h"

namespace dequant::tools {
namespace {

using format::Difference;
using format::escaped;
using format::TensorDifference;

struct DiffArguments {
  DiffReport report;
  std::optional<int64_t> axis;
  int worst = 5;
  bool skip_mismatches = false;
  ReadingOptions reading;
  bool json = false;
  bool quiet = false;
  Resources resources;
};

Result<std::unique_ptr<format::ModelFile>> open(const std::string& path, const DiffArguments& o) {
  at_work_on(path);
  const format::OpenOptions options{o.resources.structure_memory(), {}, o.reading.given()};
  return format::open_model(format::formats(), path, options);
}

/// How many stored tensors of quantized types nothing dequantizes: they cannot be compared.
Result<int64_t> count_others(format::ModelFile& file) {
  int64_t count = 0;
  DEQUANT_CHECK(file.visit_others([&](const format::OtherTensor&) -> Status {
    ++count;
    return {};
  }));
  // Left tensors of a graph are outputs of nodes; its constants are counted above.
  if (file.format().words.has_graph) return count;
  DEQUANT_CHECK(file.visit({[](const format::DenseTensor&) { return Status(); },
                            [&](const format::LeftTensor& tensor) -> Status {
                              // Those that are not read are listed by their names.
                              const bool is_stored = !tensor.parameters && !tensor.unread;
                              count += is_stored ? 1 : 0;
                              return {};
                            }}));
  return count;
}

Status warn_of_others(format::ModelFile& file) {
  DEQUANT_TRY(const int64_t count, count_others(file));
  if (count == 0) return {};
  fmt::print(stderr,
             "dequant: warning: {}: {} quantized {} that nothing dequantizes {} not compared\n",
             escaped(file.path()), count, count == 1 ? "constant" : "constants",
             count == 1 ? "is" : "are");
  return {};
}

/// Refuses limits that no tensor meets, or that say nothing.
Status check_limits(const DiffLimits& limits) {
  const auto check = [](const char* option, std::optional<double> limit, double least) -> Status {
    if (!limit || *limit >= least) return {};
    return format::failure(ErrorCode::invalid_argument, "{}: {} is not a number{}", option, *limit,
                           least == 0 ? " from 0 on" : "");
  };
  DEQUANT_CHECK(check("--max-abs", limits.max_abs, 0));
  DEQUANT_CHECK(check("--max-ulp", limits.max_ulp, 0));
  return check("--min-sqnr", limits.min_sqnr, -std::numeric_limits<double>::infinity());
}

Result<int> run(DiffArguments& o) {
  DEQUANT_CHECK(check_limits(o.report.limits));
  DEQUANT_TRY(const auto a, open(o.report.a, o));
  DEQUANT_TRY(const auto b, open(o.report.b, o));
  DEQUANT_CHECK(format::check_where_known(format::formats(), o.reading.given(), *a, *b));
  for (const auto& file : {a.get(), b.get()}) DEQUANT_CHECK(warn_of_others(*file));
  format::DiffOptions options;
  options.axis = o.axis;
  options.worst = static_cast<size_t>(o.worst);
  options.skip_mismatches = o.skip_mismatches;
  options.stream = o.resources.stream_options();
  auto progress = std::make_unique<Progress>("comparing", o.quiet);
  options.progress = std::ref(*progress);
  DEQUANT_TRY(o.report.difference, format::diff(*a, *b, options));
  progress.reset();
  if (o.json) {
    print_json(o.report);
  } else if (!o.quiet) {
    print_text(o.report);
  }
  return within(o.report) ? kDone : kDifferences;
}

}  // namespace

bool within(const DiffLimits& limits, const Difference& d) {
  if (d.exact()) return true;
  if (!limits.given()) return false;
  return (!limits.max_abs || d.max_abs <= *limits.max_abs) &&
         (!limits.max_ulp || d.max_ulp <= *limits.max_ulp) &&
         (!limits.min_sqnr || d.sqnr_db >= *limits.min_sqnr);
}

bool within(const DiffReport& report) {
  const format::ModelDifference& d = report.difference;
  return d.skipped.empty() && d.only_in_a.empty() && d.only_in_b.empty() &&
         std::all_of(d.tensors.begin(), d.tensors.end(), [&](const TensorDifference& t) {
           return within(report.limits, t.difference);
         });
}

void add_diff(const Command& app, int& exit_code) {
  auto o = std::make_shared<DiffArguments>();
  const Command c = app.add_subcommand("diff", "Compare the tensors of two models");
  c.add_option("A", o->report.a, "Model, the reference").required();
  c.add_option("B", o->report.b, "Model that is compared with it").required();
  c.add_option("--axis", o->axis,
               "List the worst channels along this axis, of tensors that have it");
  c.add_option("--worst", o->worst, "How many channels are listed; default 5").between(0, 1 << 20);
  c.add_flag("--skip-mismatches", o->skip_mismatches,
             "Count NaN and infinities that the other side lacks, and leave them out of errors");
  c.add_option("--max-abs", o->report.limits.max_abs,
               "Tensors with no larger error than this are no difference");
  c.add_option("--max-ulp", o->report.limits.max_ulp,
               "Tensors with no element more steps (ULP) apart are no difference");
  c.add_option("--min-sqnr", o->report.limits.min_sqnr,
               "Tensors with at least this signal-to-noise ratio in dB are no difference");
  o->reading.add_to(c);
  c.add_flag("-q,--quiet", o->quiet, "Print nothing but errors and warnings");
  c.add_flag("--json", o->json, "Print the report as one JSON object");
  o->resources.add_to(c);
  c.footer(
      "Examples:\n"
      "  dequant diff float.onnx quantized.onnx\n"
      "  dequant diff float.onnx quantized.onnx --axis 0 --worst 3\n"
      "  dequant diff quantized.onnx converted.onnx --json\n"
      "  dequant diff float.onnx half.onnx --min-sqnr 60\n"
      "  dequant diff original/ model-Q4_K_M.gguf --names hf\n"
      "\n"
      "Quantized tensors are dequantized, floats compared as they are stored. The exit code is 1 "
      "where\n"
      "a tensor differs, cannot be compared, or is in one file only. Integers and booleans are "
      "not\n"
      "looked at: verify compares these.");
  c.callback([o, &exit_code] {
    auto code = run(*o);
    exit_code = code ? *code : report(code.error());
  });
}

}  // namespace dequant::tools
