// Reading result files, and judging each result by what its case expects.
#include "conformance/cases/results.h"

#include "conformance/cases/dialects/read.h"
#include "conformance/cases/members.h"
#include "conformance/cases/run_case.h"
#include "format/io/errors.h"
#include "format/io/file.h"
#include "format/json/json.h"

namespace dequant::conformance {

using format::bad;
using format::check_object;
using format::escaped;
using format::in;
using format::member;
using format::parse_json;
using format::shown;
using format::text_member;
using nlohmann::json;

namespace {

Result<Refusal> parse_refusal(const json& error) {
  if (error.is_string()) return Refusal{error.get<std::string>()};
  if (error == true) return Refusal{};
  return bad("error: {} is neither true nor a message", shown(error));
}

Status parse_result_body(const json& value, CaseResult& result) {
  DEQUANT_CHECK(check_object(value, {"name", "y", "error", "skipped"}));
  // The name and one of the three others.
  if (value.size() != 2) {
    return bad("exactly one of y, error and skipped belongs here, not {}", value.size() - 1);
  }
  if (const json* y = member(value, "y")) {
    auto tensor = parse_tensor(*y);
    if (!tensor) return in("y", std::move(tensor).error());
    if (tensor->strides) return bad("y: y has no strides");
    result.what = *std::move(tensor);
  } else if (const json* error = member(value, "error")) {
    DEQUANT_TRY(result.what, parse_refusal(*error));
  } else {
    DEQUANT_TRY(std::string reason, text_member(value, "skipped"));
    result.what = Omission{std::move(reason)};
  }
  return {};
}

Outcome failed(const Case& c, std::string reason) {
  return {c.name, Verdict::failed, std::move(reason), {}};
}

Result<Outcome> judge_y(const Case& c, const CaseTensor& y) {
  if (!c.expect) return failed(c, "not refused: there is a y");
  const CaseTensor& expected = *c.expect;
  // By name: another implementation may have types that no dialect of ours has.
  if (y.type != expected.type || y.shape != expected.shape) {
    return failed(
        c, fmt::format("y is {}{} where {}{} is expected", escaped(y.type), describe_index(y.shape),
                       escaped(expected.type), describe_index(expected.shape)));
  }
  DEQUANT_TRY(const TensorType type, tensor_type("expect.y", expected));
  DEQUANT_TRY(const format::TensorData actual, materialize("y", y, type.element));
  return judge_expected(c, actual);
}

}  // namespace

Result<ResultFile> parse_results(std::string_view text) {
  DEQUANT_TRY(const json root, parse_json(text));
  DEQUANT_CHECK(check_frame(root, "result file", "dequant-results", "results"));
  ResultFile file;
  DEQUANT_TRY(file.about, parse_about(root));
  DEQUANT_TRY(file.results, parse_named<CaseResult>(root, "results", "result", parse_result_body));
  return file;
}

Result<ResultFile> read_results(const std::string& path) {
  DEQUANT_TRY(const std::string text, format::read_small_file(path, kMaxCaseFile));
  auto file = parse_results(text);
  if (!file) return in(escaped(path), std::move(file).error());
  return file;
}

Result<Outcome> judge_result(const Case& c, const CaseResult* result) {
  if (result == nullptr) return failed(c, "there is no result");
  if (const auto* omission = std::get_if<Omission>(&result->what)) {
    return Outcome{c.name, Verdict::skipped, escaped(omission->reason), {}};
  }
  if (const auto* refusal = std::get_if<Refusal>(&result->what)) {
    const bool silent = refusal->message.empty();
    return Outcome{c.name,
                   c.expect ? Verdict::failed : Verdict::passed,
                   silent ? "refused" : "refused: " + escaped(refusal->message),
                   {}};
  }
  return judge_y(c, std::get<CaseTensor>(result->what));
}

}  // namespace dequant::conformance
