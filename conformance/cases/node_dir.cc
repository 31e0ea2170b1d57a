// Files of a node test have the index of the graph's input or output: input_2.pb is the third
// input.
#include "conformance/cases/node_dir.h"

#include <algorithm>
#include <utility>

#include "conformance/cases/find.h"
#include "format/io/errors.h"
#include "format/io/file.h"
#include "format/onnx/evaluate.h"

namespace dequant::conformance {

using format::escaped;
using format::failure;
using format::identity_of;

namespace {

bool exists(const std::string& path) { return identity_of(path).size >= 0; }

/// The data sets of a directory, "test_data_set_10" after "test_data_set_9".
Result<std::vector<std::string>> data_sets(const std::string& dir) {
  DEQUANT_TRY(std::vector<std::string> names, names_in(dir));
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("test_data_set_"); });
  std::stable_sort(names.begin(), names.end(),
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  if (names.empty()) {
    return failure(ErrorCode::malformed, "{}: there is no test_data_set_*", escaped(dir));
  }
  return names;
}

/// Fails when a set has a file of that kind with an index that the graph does not have.
Status check_no_more(const std::string& set, const char* kind, size_t count) {
  const std::string path = joined(set, fmt::format("{}_{}.pb", kind, count));
  if (!exists(path)) return {};
  return failure(ErrorCode::malformed, "{}: the graph has only {} {}s", escaped(path), count, kind);
}

/// The inputs that the set has. evaluate() uses initializers for other inputs, or reports them as
/// missing.
Result<std::vector<format::onnx::NamedTensor>> read_inputs(
    const std::string& set, const std::vector<format::onnx::InputType>& types) {
  std::vector<format::onnx::NamedTensor> inputs;
  for (size_t k = 0; k < types.size(); ++k) {
    const std::string path = joined(set, fmt::format("input_{}.pb", k));
    if (!exists(path)) continue;
    DEQUANT_TRY(format::onnx::NamedTensor input, format::onnx::read_tensor_pb(path));
    input.name = types[k].name;
    inputs.push_back(std::move(input));
  }
  DEQUANT_CHECK(check_no_more(set, "input", types.size()));
  return inputs;
}

Result<Outcome> check_set(const std::string& model, const std::string& set) {
  DEQUANT_TRY(const std::vector<format::onnx::InputType> types, format::onnx::input_types(model));
  DEQUANT_TRY(std::vector<format::onnx::NamedTensor> inputs, read_inputs(set, types));
  DEQUANT_TRY(const std::vector<format::onnx::NamedTensor> outputs,
              format::onnx::evaluate(model, std::move(inputs)));
  DEQUANT_CHECK(check_no_more(set, "output", outputs.size()));
  for (size_t k = 0; k < outputs.size(); ++k) {
    const std::string path = joined(set, fmt::format("output_{}.pb", k));
    DEQUANT_TRY(const format::onnx::NamedTensor expected, format::onnx::read_tensor_pb(path));
    Outcome outcome = judge(escaped(outputs[k].name), outputs[k].data, expected.data, {});
    if (outcome.verdict != Verdict::passed) return outcome;
  }
  return Outcome{};
}

/// The outcome of an error: an unsupported model is skipped, an invalid node fails. Returns all
/// other errors.
Result<Outcome> judged(Error error) {
  switch (error.code) {
    case ErrorCode::unsupported: return Outcome{{}, Verdict::skipped, std::move(error.message), {}};
    case ErrorCode::invalid_argument:
      return Outcome{{}, Verdict::failed, std::move(error.message), {}};
    default: return error;
  }
}

std::string last_component(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

Result<NodeDirOutcome> check_node_directory(const std::string& dir) {
  DEQUANT_TRY(const std::vector<std::string> sets, data_sets(dir));
  const std::string name = last_component(dir);
  NodeDirOutcome out;
  for (const std::string& set : sets) {
    auto checked = check_set(joined(dir, "model.onnx"), joined(dir, set));
    DEQUANT_TRY(Outcome outcome, checked ? std::move(checked) : judged(std::move(checked).error()));
    outcome.name = joined(name, set);
    out.sets.push_back(std::move(outcome));
  }
  return out;
}

}  // namespace dequant::conformance
