// `dequant plan`: lists the tasks of a conversion that several processes carry out.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "dequant/version.h"
#include "format/formats.h"
#include "format/model/conversion.h"
#include "format/model/report_json.h"
#include "tools/commands.h"
#include "tools/convert_options.h"
#include "tools/files.h"
#include "tools/json_text.h"
#include "tools/memory.h"

namespace dequant::tools {
namespace {

using nlohmann::ordered_json;

struct PlanArguments {
  std::string input;
  std::string output;
  ConvertOptions model;
};

/// A line for each task: plans have thousands.
void print(const PlanArguments& o, const std::string& conversion,
           const format::ConvertReport& report) {
  const format::ShareReport& share = *report.share;
  fmt::print("{{\n  \"dequant\": \"{}\",\n", DEQUANT_VERSION);
  fmt::print("  \"output\": {},\n", json_line(o.output));
  fmt::print("  \"conversion\": {},\n", json_line(ordered_json::parse(conversion)));
  fmt::print("  \"fingerprint\": \"{}\",\n", share.fingerprint);
  fmt::print("  \"bytes_in\": {},\n  \"bytes_out\": {},\n", report.bytes_in, report.bytes_out);
  fmt::print("  \"tasks\": [");
  const char* separator = "\n    ";
  for (const format::TaskReport& task : share.tasks) {
    fmt::print("{}{}", separator, json_line(format::to_json(task)));
    separator = ",\n    ";
  }
  fmt::print("\n  ]\n}}\n");
}

int run(PlanArguments& o) {
  at_work_on(o.input);
  format::ConvertOptions options = o.model.library();
  format::ShareOptions& share = options.write.share.emplace();
  if (const auto bytes = o.model.task_bytes()) {
    if (const Status set = set_task_bytes(*bytes, share); !set) return report(set.error());
  }
  const auto conversion = format::conversion_text(o.input, options);
  if (!conversion) return report(conversion.error());
  const auto result = format::convert(format::formats(), o.input, o.output, options);
  if (!result) return report(result.error());
  for (const std::string& w : result->warnings) fmt::print(stderr, "dequant: warning: {}\n", w);
  print(o, *conversion, *result);
  return kDone;
}

}  // namespace

void add_plan(const Command& app, int& exit_code) {
  auto o = std::make_shared<PlanArguments>();
  const Command c =
      app.add_subcommand("plan", "List the tasks of a conversion that several machines carry out");
  c.add_option(
       "MODEL", o->input,
       "ONNX model, checkpoint folder or index, .safetensors file, GGUF file or TFLite model")
      .required();
  c.add_option("-o,--output", o->output, "Model that the tasks write, as for convert")
      .required()
      .check(not_standard_output);
  o->model.add_to(c);
  c.footer(
      "Prints a JSON object: for each task the bytes of the output that it writes and the bytes "
      "of\n"
      "the input that it reads. The same input, options and version give the same plan.\n"
      "\n"
      "Examples:\n"
      "  dequant plan DeepSeek-V3 -o DeepSeek-V3-bf16 --dtype bfloat16 > plan.json\n"
      "  dequant plan model.gguf -o model.safetensors --task-size 1G\n"
      "  dequant convert DeepSeek-V3 -o DeepSeek-V3-bf16 --dtype bfloat16 --task 7");
  c.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace dequant::tools
