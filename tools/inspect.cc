// `dequant inspect`: statistics of the quantized tensors of a model.
#include "format/model/inspect.h"

#include <fmt/format.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "format/formats.h"
#include "format/io/output.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/files.h"
#include "tools/inspect_folded.h"
#include "tools/inspect_page.h"
#include "tools/inspect_sinks.h"
#include "tools/json_text.h"
#include "tools/memory.h"
#include "tools/reading_options.h"

namespace dequant::tools {
namespace {

using format::InspectSink;
using format::InspectTotals;
using format::OtherTensor;
using format::TensorInfo;

/// Passes every call to several sinks.
class Sinks : public InspectSink {
 public:
  void add(InspectSink& sink) { sinks_.push_back(&sink); }

  Status begin() override {
    return each([](InspectSink& s) { return s.begin(); });
  }
  Status tensor(const TensorInfo& tensor) override {
    return each([&](InspectSink& s) { return s.tensor(tensor); });
  }
  Status other(const OtherTensor& other) override {
    return each([&](InspectSink& s) { return s.other(other); });
  }

 private:
  template <class Call>
  Status each(Call call) {
    for (InspectSink* sink : sinks_) DEQUANT_CHECK(call(*sink));
    return {};
  }

  std::vector<InspectSink*> sinks_;
};

struct InspectArguments {
  std::string model;
  std::optional<std::string> page;
  bool json = false;
  bool force = false;
  ReadingOptions reading;
  bool all = false;
  Resources resources;
};

/// What a file with very many tensors has, without their data.
Status show_structure(format::ModelFile& file, bool json) {
  DEQUANT_TRY(const Structure structure, structure_of(file));
  if (json) {
    fmt::print("{}\n", json_text(to_json(file, structure), 0));
  } else {
    print_structure(file, structure);
  }
  return {};
}

Status run(InspectArguments& o) {
  at_work_on(o.model);
  format::InspectOptions options{o.resources.stream_options()};
  std::optional<format::OutputFile> page_file;
  if (o.page) {
    const auto overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
    DEQUANT_TRY(format::OutputFile made, format::OutputFile::create(*o.page, overwrite));
    page_file.emplace(std::move(made));
    options.profiles = kMostRows;
  }
  const format::OpenOptions open_options{o.resources.structure_memory(), o.reading.given()};
  DEQUANT_TRY(const auto file, format::open_model(format::formats(), o.model, open_options));
  if (file->format().words.folds && !o.all && !o.page) return show_structure(*file, o.json);
  if (o.page) DEQUANT_CHECK(file->check_output(*o.page));
  std::optional<Page> page;
  InspectText text(file->format().words);
  InspectJson json(*file);
  Sinks sinks;
  if (o.page) sinks.add(page.emplace(*page_file, *file));
  if (o.json) sinks.add(json);
  if (!o.json && !o.page) sinks.add(text);

  auto progress = std::make_unique<Progress>("reading");
  // No progress bar where output is printed at the same time.
  if (!o.json || ::isatty(STDOUT_FILENO) == 0) options.progress = std::ref(*progress);
  DEQUANT_TRY(const InspectTotals totals, format::inspect(*file, options, sinks));
  progress.reset();
  if (page) {
    DEQUANT_CHECK(page->end(totals));
    DEQUANT_CHECK(page_file->commit());
  }
  // The JSON object is completed only after success.
  if (o.json) json.end(totals);
  if (!o.json && !o.page) text.end(totals);
  return {};
}

}  // namespace

void add_inspect(const Command& app, int& exit_code) {
  auto o = std::make_shared<InspectArguments>();
  const Command command =
      app.add_subcommand("inspect", "Show what the quantized tensors of a model hold");
  command
      .add_option(
          "MODEL", o->model,
          "ONNX model, checkpoint folder or index, .safetensors file, GGUF file or TFLite model")
      .required();
  command.add_flag("--json", o->json, "Print one JSON object instead of tables");
  command
      .add_option("--html", o->page,
                  "Write a page with histograms instead of printing tables; any browser shows it")
      .type_name("FILE")
      .check(not_standard_output);
  command.add_flag("-f,--force", o->force, "Replace the page if it exists")
      .needs(command.get_option("--html"));
  command.add_flag("--all", o->all,
                   "Checkpoints, GGUF, TFLite: read all tensors, and show each with the ranges of "
                   "its scales and "
                   "values; else only what there is, with names that differ in numbers folded");
  o->reading.add_to(command);
  o->resources.add_to(command);
  command.footer(
      "Examples:\n"
      "  dequant inspect model.onnx\n"
      "  dequant inspect model.onnx --html model.html\n"
      "  dequant inspect DeepSeek-V3\n"
      "  dequant inspect model.onnx --json | jq '.nodes[] | select(.scale.min == 0).output'");
  command.callback([o, &exit_code] {
    if (const Status status = run(*o); !status) exit_code = tools::report(status.error());
  });
}

}  // namespace dequant::tools
