// Schemes of checkpoints, from the list of schemes: the stored tensors by the producer's names.
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "conformance/cases/dialects/dialects.h"
#include "conformance/cases/dialects/read.h"
#include "format/io/errors.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;

namespace {

/// Demands the tensors that the scheme requires, and no others but its optional ones.
Status check_tensors(const Case& c, const Scheme& scheme) {
  for (const auto& [name, tensor] : c.inputs) {
    if (std::ranges::find(scheme.inputs, name, &SchemeInput::name) == scheme.inputs.end())
      return failure(ErrorCode::malformed, "inputs.{}: {} has no such tensor", escaped(name),
                     scheme.name);
  }
  for (const SchemeInput& input : scheme.inputs) {
    if (input.required && !c.inputs.contains(std::string(input.name)))
      return failure(ErrorCode::malformed, "inputs: there is no {}", input.name);
  }
  return {};
}

/// The value of a setting as text: "4", "true", "128,128".
Result<std::string> text_of(const std::string& name, const CaseAttribute& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return std::string(*truth ? "true" : "false");
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    return fmt::format("{}", fmt::join(*list, ","));
  return text_attribute(name, value);
}

}  // namespace

const Scheme* find_scheme(std::string_view name) {
  const auto all = schemes();
  const auto found = std::ranges::find(all, name, &Scheme::name);
  return found == all.end() ? nullptr : &*found;
}

Result<SchemePlan> plan_checkpoint(const Case& c) {
  if (c.version != "1") {
    return failure(ErrorCode::malformed, "version: \"{}\": {} has only 1", escaped(c.version),
                   c.dialect);
  }
  DEQUANT_CHECK(check_tensors(c, *find_scheme(c.dialect)));
  SchemeNode node{.scheme = c.dialect, .tensors = {}};
  std::vector<SchemeTensor> tensors;
  for (const auto& [name, tensor] : c.inputs) {
    DEQUANT_TRY(const TensorType type, tensor_type(name, tensor));
    tensors.push_back({name, type});
  }
  std::deque<std::string> texts;  // whose elements stay where they are
  std::vector<SchemeOption> options;
  for (const auto& [name, value] : c.attributes) {
    if (name == "dtype") {
      DEQUANT_TRY(node.output, element_attribute(name, value));
      continue;
    }
    DEQUANT_TRY(std::string text, text_of(name, value));
    options.push_back({name, texts.emplace_back(std::move(text))});
  }
  node.tensors = tensors;
  node.options = options;
  return plan_scheme(node);
}

}  // namespace dequant::conformance
