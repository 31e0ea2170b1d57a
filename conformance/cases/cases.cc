// Parsing case files. Every unknown key is an error: a misspelled key must not weaken a test.
#include "conformance/cases/cases.h"

#include <algorithm>

#include "conformance/cases/members.h"
#include "dequant/scheme.h"
#include "format/io/errors.h"
#include "format/io/file.h"
#include "format/json/json.h"

namespace dequant::conformance {

using format::bad;
using format::check_object;
using format::escaped;
using format::in;
using format::integer;
using format::integers_of;
using format::member;
using format::parse_json;
using format::read_small_file;
using format::shown;
using format::text_member;

namespace {

using nlohmann::json;

Result<CaseAttribute> parse_attribute(const json& value) {
  if (value.is_boolean()) return CaseAttribute(value.get<bool>());
  if (value.is_string()) return CaseAttribute(value.get<std::string>());
  if (value.is_number_float()) return CaseAttribute(value.get<double>());
  if (value.is_array()) {
    DEQUANT_TRY(auto numbers, integers_of<int64_t>(value, "list"));
    return CaseAttribute(std::move(numbers));
  }
  DEQUANT_TRY(const int64_t number, integer<int64_t>(value));
  return CaseAttribute(number);
}

Result<std::string> parse_version(const json& value) {
  const json* version = member(value, "version");
  if (version == nullptr) return bad("there is no \"version\"");
  if (version->is_string()) return version->get_ref<const std::string&>();
  DEQUANT_TRY(const int64_t number, integer<int64_t>(*version));
  return std::to_string(number);
}

/// Parses each member of the object `key`, if there is one.
template <class T>
Status parse_map(const json& value, const char* key, Result<T> (*parse)(const json&),
                 std::map<std::string, T>& out) {
  const json* object = member(value, key);
  if (object == nullptr) return {};
  if (!object->is_object()) return bad("{}: {} is not an object", key, shown(*object));
  for (const auto& [name, content] : object->items()) {
    auto parsed = parse(content);
    if (!parsed) return in(fmt::format("{}.{}", key, escaped(name)), std::move(parsed).error());
    out.emplace(name, *std::move(parsed));
  }
  return {};
}

Status parse_expect(const json& value, Case& c) {
  const json* expect = member(value, "expect");
  if (expect == nullptr) return bad("there is no \"expect\"");
  if (Status known = check_object(*expect, {"y", "error"}); !known) {
    return in("expect", std::move(known).error());
  }
  const json* y = member(*expect, "y");
  const json* error = member(*expect, "error");
  if ((y == nullptr) == (error == nullptr)) return bad("expect: neither or both of y and error");
  if (error != nullptr && *error != true) {
    return bad("expect.error: {} is not true", shown(*error));
  }
  if (value.contains("rule")) {
    DEQUANT_TRY(c.rule, text_member(value, "rule"));
    if (c.rule.empty()) return bad("rule: it is empty");
    if (y != nullptr) return bad("rule: only a case that expects an error has one");
  }
  if (error != nullptr) return {};
  auto tensor = parse_tensor(*y);
  if (!tensor) return in("expect.y", std::move(tensor).error());
  if (tensor->strides) return bad("expect.y: y has no strides");
  c.expect = *std::move(tensor);
  return {};
}

Status parse_tolerance(const json& value, Case& c) {
  if (const json* ulp = member(value, "ulp")) {
    auto number = integer<int64_t>(*ulp);
    if (!number) return in("ulp", std::move(number).error());
    if (*number < 0) return bad("ulp: {} is negative", *number);
    c.ulp = *number;
  }
  if (const json* ignore = member(value, "ignore_zero_sign")) {
    if (!ignore->is_boolean()) return bad("ignore_zero_sign: {} is not a boolean", shown(*ignore));
    c.ignore_zero_sign = ignore->get<bool>();
  }
  return {};
}

/// Refuses members that the case's dialect does not have: they would be ignored.
Status check_dialect(const json& value, const Case& c) {
  const auto known = dialects();
  if (std::find(known.begin(), known.end(), c.dialect) == known.end()) {
    return bad("dialect: \"{}\" is not one of {}", escaped(c.dialect), fmt::join(known, ", "));
  }
  const bool directml = c.dialect == "directml";
  if (value.contains("operator") != directml) {
    return bad("operator: {}", directml ? "directml needs one" : "only directml has one");
  }
  for (const auto& [name, tensor] : c.inputs) {
    if (tensor.strides && !directml) {
      return bad("inputs.{}: strides: only directml has them", escaped(name));
    }
  }
  return {};
}

Status parse_case_body(const json& value, Case& c) {
  DEQUANT_CHECK(check_object(value, {"name", "dialect", "version", "operator", "attributes",
                                     "inputs", "expect", "rule", "ulp", "ignore_zero_sign"}));
  DEQUANT_TRY(c.dialect, text_member(value, "dialect"));
  DEQUANT_TRY(c.version, parse_version(value));
  DEQUANT_CHECK(parse_map(value, "attributes", parse_attribute, c.attributes));
  if (!value.contains("inputs")) return bad("there is no \"inputs\"");
  DEQUANT_CHECK(parse_map(value, "inputs", parse_tensor, c.inputs));
  DEQUANT_CHECK(check_dialect(value, c));
  if (value.contains("operator")) {
    DEQUANT_TRY(c.operator_name, text_member(value, "operator"));
  }
  DEQUANT_CHECK(parse_expect(value, c));
  return parse_tolerance(value, c);
}

}  // namespace

std::vector<std::string> dialects() {
  std::vector<std::string> names{"onnx", "microsoft", "tensorflow", "directml", "webnn"};
  for (const Scheme& scheme : schemes()) names.emplace_back(scheme.name);
  return names;
}

std::string_view codes_name(std::string_view dialect) {
  for (const Scheme& scheme : schemes()) {
    if (scheme.name == dialect) return scheme.inputs.front().name;
  }
  return "x";
}

Result<CaseFile> parse_cases(std::string_view text) {
  DEQUANT_TRY(const json root, parse_json(text));
  DEQUANT_CHECK(check_frame(root, "case file", "dequant-cases", "cases"));
  CaseFile file;
  DEQUANT_TRY(file.about, parse_about(root));
  DEQUANT_TRY(file.cases, parse_named<Case>(root, "cases", "case", parse_case_body));
  return file;
}

Result<CaseFile> read_cases(const std::string& path) {
  DEQUANT_TRY(const std::string text, read_small_file(path, kMaxCaseFile));
  auto file = parse_cases(text);
  if (!file) return in(escaped(path), std::move(file).error());
  return file;
}

}  // namespace dequant::conformance
