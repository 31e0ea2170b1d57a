// `dequant inspect`: what the quantized tensors of a model hold.
#include "format/onnx/inspect.h"

#include <unistd.h>

#include <memory>
#include <optional>
#include <vector>

#include "format/io/output.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/files.h"
#include "tools/inspect_page.h"
#include "tools/inspect_sinks.h"
#include "tools/memory.h"

namespace dequant::tools {
namespace {

using format::onnx::DequantizeInfo;
using format::onnx::InspectHead;
using format::onnx::InspectSink;
using format::onnx::InspectTotals;
using format::onnx::OtherConstant;
using format::onnx::Readers;

/// Hands on what is found to several sinks.
class Sinks : public InspectSink {
 public:
  void add(InspectSink& sink) { sinks_.push_back(&sink); }

  Status begin(const InspectHead& head) override {
    return each([&](InspectSink& s) { return s.begin(head); });
  }
  Status node(const DequantizeInfo& node) override {
    return each([&](InspectSink& s) { return s.node(node); });
  }
  Status other(const OtherConstant& constant, const Readers& readers) override {
    return each([&](InspectSink& s) { return s.other(constant, readers); });
  }

 private:
  template <class Call>
  Status each(Call call) {
    for (InspectSink* sink : sinks_) DEQUANT_CHECK(call(*sink));
    return {};
  }

  std::vector<InspectSink*> sinks_;
};

struct Options {
  std::string model;
  std::optional<std::string> page;
  bool json = false;
  bool force = false;
  bool no_checksum = false;
  Resources resources;
};

Status run(Options& o) {
  at_work_on(o.model);
  format::onnx::InspectOptions options{o.resources.stream_options()};
  if (o.no_checksum) options.checksums = format::onnx::Checksums::skip;
  std::optional<format::OutputFile> file;
  if (o.page) {
    const auto overwrite = o.force ? format::Overwrite::replace : format::Overwrite::refuse;
    DEQUANT_TRY(format::OutputFile made, format::OutputFile::create(*o.page, overwrite));
    file.emplace(std::move(made));
    options.output = *o.page;
    options.profiles = kMostRows;
  }
  std::optional<Page> page;
  InspectText text;
  InspectJson json;
  Sinks sinks;
  if (file) sinks.add(page.emplace(*file, o.model));
  if (o.json) sinks.add(json);
  if (!o.json && !file) sinks.add(text);

  auto progress = std::make_unique<Progress>("reading");
  // A bar amid what is printed meanwhile would spoil both.
  if (!o.json || ::isatty(STDOUT_FILENO) == 0)
    options.progress = [&](int64_t done, int64_t total) { progress->update(done, total); };
  DEQUANT_TRY(const InspectTotals totals, format::onnx::inspect(o.model, options, sinks));
  progress.reset();
  if (page) {
    DEQUANT_CHECK(page->end(totals));
    DEQUANT_CHECK(file->commit());
  }
  // The object is whole only when all has succeeded.
  if (o.json) json.end(totals);
  if (!o.json && !file) text.end(totals);
  return {};
}

}  // namespace

void add_inspect(const Command& app, int& exit_code) {
  auto o = std::make_shared<Options>();
  const Command command =
      app.add_subcommand("inspect", "Show what the quantized tensors of a model hold");
  command.add_option("MODEL", o->model, "ONNX model").required();
  command.add_flag("--json", o->json, "Print one JSON object instead of tables");
  command
      .add_option("--html", o->page,
                  "Write a page with histograms instead of printing tables; any browser shows it")
      .type_name("FILE")
      .check(not_standard_output);
  command.add_flag("-f,--force", o->force, "Replace the page if it exists")
      .needs(command.get_option("--html"));
  command.add_flag("--no-checksum", o->no_checksum,
                   "Do not hold external data against the checksums that tensors name");
  o->resources.add_to(command);
  command.footer(
      "Examples:\n"
      "  dequant inspect model.onnx\n"
      "  dequant inspect model.onnx --html model.html\n"
      "  dequant inspect model.onnx --json | jq '.nodes[] | select(.scale.min == 0).output'");
  command.callback([o, &exit_code] {
    if (const Status status = run(*o); !status) exit_code = tools::report(status.error());
  });
}

}  // namespace dequant::tools
