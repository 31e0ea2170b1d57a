// `dequant check`: runs conformance cases, or takes the results of another implementation, and
// reports outputs that differ from the expected ones.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "conformance/cases/cases.h"
#include "conformance/cases/find.h"
#include "conformance/cases/node_dir.h"
#include "conformance/cases/results.h"
#include "conformance/cases/run_case.h"
#include "format/io/errors.h"
#include "tools/commands.h"
#include "tools/json_text.h"
#include "tools/memory.h"

namespace dequant::tools {
namespace {

using conformance::Checkable;
using conformance::Outcome;
using conformance::Verdict;
using format::escaped;
using nlohmann::ordered_json;

struct CheckArguments {
  std::vector<std::string> paths;
  std::string results;  ///< empty: the library's own
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  bool json = false;
  bool verbose = false;
};

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return "passed";
    case Verdict::failed: return "failed";
    case Verdict::skipped: return "skipped";
  }
  return "";
}

ordered_json to_json(const std::string& path, const Outcome& outcome, const std::string& rule) {
  ordered_json difference;  // null
  if (const auto& d = outcome.difference) {
    const auto side = [&](uint32_t code) {
      return ordered_json{{"value", conformance::describe_value(d->element, code)},
                          {"bits", conformance::describe_bits(d->element, code)}};
    };
    difference = {{"type", dequant::name(d->element)},
                  {"differing", d->count},
                  {"elements", d->total},
                  {"index", d->index},
                  {"actual", side(d->actual)},
                  {"expected", side(d->expected)}};
  }
  return {{"path", path},
          {"name", outcome.name},
          {"rule", rule.empty() ? ordered_json() : ordered_json(rule)},
          {"verdict", name(outcome.verdict)},
          {"reason", outcome.reason},
          {"difference", difference}};
}

/// Checks cases and counts the outcomes.
class Checker {
 public:
  explicit Checker(const CheckArguments& options) : options_(options) {}

  void check(const std::string& path) {
    at_work_on(path);
    const auto found = conformance::find_checkables(path);
    if (!found) return add_error(path, found.error());
    for (const Checkable& checkable : *found) {
      if (checkable.kind == Checkable::Kind::node_directory) {
        check_node(checkable.path);
      } else {
        check_cases(checkable.path);
      }
      print_skipped(checkable.path);
    }
  }

  /// Judges a result file by the case file that it was made from.
  void check_results(const std::string& path) {
    at_work_on(path);
    const auto file = conformance::read_cases(path);
    if (!file) return add_error(path, file.error());
    at_work_on(options_.results);
    const auto results = conformance::read_results(options_.results);
    if (!results) return add_error(options_.results, results.error());
    std::map<std::string, const conformance::CaseResult*> by_name;
    for (const auto& result : results->results) by_name.emplace(result.name, &result);
    for (const conformance::Case& c : file->cases) {
      const auto found = by_name.find(c.name);
      const conformance::CaseResult* result = found == by_name.end() ? nullptr : found->second;
      if (selected(c.name)) add(path, c, conformance::judge_result(c, result), options_.results);
      if (result != nullptr) by_name.erase(found);
    }
    print_skipped(path);
    if (by_name.empty()) return;
    add_error(options_.results,
              format::failure(ErrorCode::malformed,
                              "{}: {} of the results have names that no case of {} has, such as "
                              "\"{}\"",
                              escaped(options_.results), by_name.size(), escaped(path),
                              escaped(by_name.begin()->first)));
  }

  /// Prints the summary and returns the exit code. An error has priority over a difference, as
  /// cases were not run because of it.
  int finish() {
    if (options_.json) {
      const ordered_json all{{"passed", count(Verdict::passed)},
                             {"failed", count(Verdict::failed)},
                             {"skipped", count(Verdict::skipped)},
                             {"cases", cases_},
                             {"errors", errors_}};
      fmt::print("{}\n", json_text(all));
    } else {
      fmt::print("{} passed, {} failed, {} skipped\n", count(Verdict::passed),
                 count(Verdict::failed), count(Verdict::skipped));
    }
    if (error_code_ != kDone) return error_code_;
    if (count(Verdict::failed) > 0) return kDifferences;
    if (count(Verdict::passed) > 0) return kDone;
    if (count(Verdict::skipped) > 0) {
      return report({ErrorCode::unsupported, "nothing was checked: all cases were skipped"});
    }
    const bool named = !options_.include.empty() || !options_.exclude.empty();
    return report({ErrorCode::invalid_argument, named
                                                    ? "nothing was checked: no case has such a name"
                                                    : "nothing was checked: there are no cases"});
  }

 private:
  void check_cases(const std::string& path) {
    const auto file = conformance::read_cases(path);
    if (!file) return add_error(path, file.error());
    for (const conformance::Case& c : file->cases) {
      if (selected(c.name)) add(path, c, conformance::run_case(c), path);
    }
  }

  void check_node(const std::string& path) {
    const auto outcome = conformance::check_node_directory(path);
    if (!outcome) return add_error(path, outcome.error());
    for (const Outcome& set : outcome->sets) {
      if (selected(set.name)) add(path, set, {});
    }
  }

  bool selected(const std::string& case_name) const {
    const auto matches = [&](const std::string& glob) {
      return fnmatch(glob.c_str(), case_name.c_str(), 0) == 0;
    };
    const auto& [in, out] = std::tie(options_.include, options_.exclude);
    return (in.empty() || std::any_of(in.begin(), in.end(), matches)) &&
           std::none_of(out.begin(), out.end(), matches);
  }

  /// Adds the outcome of a case, or an error in the file `culprit`.
  void add(const std::string& path, const conformance::Case& c, Result<Outcome> outcome,
           const std::string& culprit) {
    if (outcome) return add(path, *outcome, c.rule);
    const std::string where = fmt::format("{}: case \"{}\"", escaped(culprit), escaped(c.name));
    add_error(culprit, format::in(where, std::move(outcome).error()));
  }

  void add(const std::string& path, const Outcome& outcome, const std::string& rule) {
    ++counts_[outcome.verdict];
    if (options_.json) {
      cases_.push_back(to_json(path, outcome, rule));
    } else if (options_.verbose || outcome.verdict == Verdict::failed) {
      fmt::print("{} {}: {}{}{}\n", name(outcome.verdict), escaped(path), escaped(outcome.name),
                 outcome.reason.empty() ? "" : ": ", outcome.reason);
    } else if (outcome.verdict == Verdict::skipped) {
      ++skipped_[outcome.reason];
    }
  }

  /// Prints one line for all cases of a file that were skipped for the same reason.
  void print_skipped(const std::string& path) {
    for (const auto& [reason, cases] : skipped_) {
      fmt::print("skipped {}: {} {}: {}\n", escaped(path), cases, cases == 1 ? "case" : "cases",
                 reason);
    }
    skipped_.clear();
  }

  void add_error(const std::string& path, const Error& error) {
    std::fflush(stdout);  // so that errors on stderr come at the right position among the results
    const int code = report(error);
    if (error_code_ == kDone) error_code_ = code;
    errors_.push_back(
        {{"path", path}, {"code", dequant::name(error.code)}, {"message", error.message}});
  }

  int64_t count(Verdict verdict) const {
    const auto found = counts_.find(verdict);
    return found == counts_.end() ? 0 : found->second;
  }

  const CheckArguments& options_;
  std::map<Verdict, int64_t> counts_;
  std::map<std::string, int64_t> skipped_;
  ordered_json cases_ = ordered_json::array();
  ordered_json errors_ = ordered_json::array();
  int error_code_ = kDone;
};

}  // namespace

void add_check(const Command& app, int& exit_code) {
  auto options = std::make_shared<CheckArguments>();
  const Command check =
      app.add_subcommand("check", "Run conformance cases and compare bit for bit");
  check
      .add_option("PATH", options->paths,
                  "Case file (.json), ONNX node test (a directory with model.onnx and "
                  "test_data_set_*), or a directory to search for both")
      .required();
  check
      .add_option("--results", options->results,
                  "Judge these results of another implementation of the cases of one case file")
      .type_name("FILE");
  check
      .add_option("--include", options->include,
                  "Only cases whose name matches this glob; may be repeated")
      .type_name("GLOB")
      .one_value();
  check
      .add_option("--exclude", options->exclude,
                  "No cases whose name matches this glob; may be repeated")
      .type_name("GLOB")
      .one_value();
  check.add_flag("--json", options->json, "Print one JSON object instead of lines");
  check.add_flag("-v,--verbose", options->verbose, "Name every case, not only those that fail");
  check.footer(
      "Examples:\n"
      "  dequant check cases.json\n"
      "  dequant check -v onnx/backend/test/data/node/test_dequantizelinear_axis\n"
      "  dequant check --include 'reject/*' --json conformance/\n"
      "  dequant check cases.json --results mine.json\n"
      "\n"
      "Exits with 0 when all cases pass, 1 when one fails, 3 when an input is malformed, 4 when "
      "all\n"
      "are skipped, 5 when one cannot be read.");
  check.callback([options, &exit_code] {
    Checker checker(*options);
    const bool others = !options->results.empty();
    if (others && options->paths.size() != 1) {
      exit_code = report({ErrorCode::invalid_argument, "--results: give one case file as PATH"});
      return;
    }
    for (const std::string& path : options->paths) {
      others ? checker.check_results(path) : checker.check(path);
    }
    exit_code = checker.finish();
  });
}

}  // namespace dequant::tools
