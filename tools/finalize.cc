// `dequant finalize`: completes an output whose tasks are all done.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "format/formats.h"
#include "format/io/errors.h"
#include "format/model/conversion.h"
#include "format/model/report_json.h"
#include "tools/commands.h"
#include "tools/common.h"
#include "tools/json_text.h"

namespace dequant::tools {
namespace {

using format::escaped;
using format::TaskReport;
using nlohmann::ordered_json;

struct FinalizeArguments {
  std::string output;
  std::string input;
  bool verify = false;
  bool json = false;
  bool quiet = false;
  Resources resources;
};

/// Tasks that are listed in text at most.
constexpr size_t kMostListed = 20;

void print_text(const FinalizeArguments& o, const format::ShareReport& share) {
  if (share.complete) {
    fmt::print("{} is complete{}\n", escaped(o.output),
               share.fingerprint.empty() ? "; nothing was left to do" : "");
    return;
  }
  size_t missing = 0;
  for (const TaskReport& t : share.tasks) {
    if (t.state != TaskReport::State::missing || ++missing > kMostListed) continue;
    fmt::print("task {} ({}, bytes {} to {}): {}\n", t.number, escaped(t.file), t.bytes.begin,
               t.bytes.end, t.reason);
  }
  if (missing > kMostListed) fmt::print("and {} more\n", missing - kMostListed);
  fmt::print(
      "{} of {} tasks are missing: carry them out by convert --shard or --task, then "
      "finalize again\n",
      missing, share.count);
}

int run(FinalizeArguments& o) {
  format::FinalizeOptions options;
  options.input = o.input;
  options.read_again = o.verify;
  options.stream = o.resources.stream_options();
  const auto result = format::finalize(format::formats(), o.output, options);
  if (!result) return report(result.error());
  const format::ShareReport& share = *result->share;
  if (o.verify && share.complete && share.fingerprint.empty()) {
    fmt::print(stderr,
               "dequant: warning: {}: nothing was verified: the records of its tasks went when it "
               "was completed; dequant verify compares it with the input\n",
               escaped(o.output));
  }
  if (o.json) {
    ordered_json j{{"output", o.output}};
    j.update(format::to_json(share));
    fmt::print("{}\n", json_text(j));
  } else if (!o.quiet) {
    print_text(o, share);
  }
  return share.complete ? kDone : kDifferences;
}

}  // namespace

void add_finalize(const Command& app, int& exit_code) {
  auto o = std::make_shared<FinalizeArguments>();
  const Command c =
      app.add_subcommand("finalize", "Complete a model that convert --shard or --task has written");
  c.add_option("OUTPUT", o->output, "The output of these commands").required();
  c.add_option("--input", o->input,
               "The model that they read, where it is not at the path that they were given");
  c.add_flag("--verify", o->verify,
             "Read all of the output again and compare the hashes of the records; else sizes and "
             "samples are compared");
  c.add_flag("-q,--quiet", o->quiet, "Print nothing but errors and warnings");
  c.add_flag("--json", o->json, "Print the tasks as one JSON object");
  o->resources.add_to(c);
  c.footer(
      "Exits with 1 where tasks are missing, and lists them. May be run by anybody, any number of\n"
      "times.\n"
      "\n"
      "Examples:\n"
      "  dequant finalize DeepSeek-V3-bf16\n"
      "  dequant finalize DeepSeek-V3-bf16 --verify --json");
  c.callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace dequant::tools
