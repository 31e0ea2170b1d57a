// Checking the functions of a model: names, and that no calls are recursive.
#include "format/onnx/functions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "format/io/errors.h"

namespace dequant::format::onnx {
namespace {

std::string_view standard(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

/// The name by which a node calls a function.
using FunctionName = std::tuple<std::string_view, std::string_view, std::string_view>;

Result<std::map<FunctionName, size_t>> function_names(const Model& model) {
  // Runtimes differ in whether a node then means the function or the operator.
  constexpr std::array<std::string_view, 4> kOwn{"DequantizeLinear", "QuantizeLinear", "Identity",
                                                 "Constant"};
  std::map<FunctionName, size_t> names;
  for (const Graph& f : model.functions) {
    const std::string_view domain = standard(f.domain);
    if (!names.emplace(FunctionName{domain, f.name, f.overload}, names.size()).second) {
      return failure(ErrorCode::malformed, "function {} of domain \"{}\" is defined twice",
                     escaped(f.name), escaped(f.domain));
    }
    const bool own = std::find(kOwn.begin(), kOwn.end(), f.name) != kOwn.end();
    if (own && (domain.empty() || domain == "com.microsoft")) {
      return failure(ErrorCode::unsupported, "function {} redefines an operator of that name",
                     escaped(f.name));
    }
  }
  return names;
}

/// The functions that each function calls, also within its subgraphs.
std::vector<std::vector<size_t>> calls_of(const std::vector<Graph*>& graphs,
                                          const std::map<FunctionName, size_t>& names) {
  std::vector<std::vector<size_t>> calls(names.size());
  for (const Graph* g : graphs) {
    const Graph* body = g;
    while (body->outer != nullptr) body = body->outer;
    if (!body->is_function) continue;
    auto& from = calls[names.at({standard(body->domain), body->name, body->overload})];
    for (const Node& n : g->nodes) {
      const auto callee =
          names.find(FunctionName{standard(n.op->domain), n.op->type, n.op->overload});
      if (callee != names.end()) from.push_back(callee->second);
    }
  }
  return calls;
}

}  // namespace

Status check_functions(const Model& model, const std::vector<Graph*>& graphs) {
  DEQUANT_TRY(const auto names, function_names(model));
  const auto calls = calls_of(graphs, names);
  // Depth-first search for a cycle of calls.
  enum class State : uint8_t { unseen, open, closed };
  std::vector<State> states(calls.size());
  std::vector<std::pair<size_t, size_t>> chain;  // a function, and the index of its next call
  for (size_t start = 0; start < calls.size(); ++start) {
    if (states[start] == State::unseen) chain.emplace_back(start, 0);
    while (!chain.empty()) {
      auto& [function, next] = chain.back();
      states[function] = State::open;
      if (next == calls[function].size()) {
        states[function] = State::closed;
        chain.pop_back();
        continue;
      }
      const size_t callee = calls[function][next++];
      if (states[callee] == State::open) {
        return failure(
            ErrorCode::malformed, "function {} calls itself",
            escaped(std::next(model.functions.begin(), static_cast<std::ptrdiff_t>(callee))->name));
      }
      if (states[callee] == State::unseen) chain.emplace_back(callee, 0);
    }
  }
  return {};
}

}  // namespace dequant::format::onnx
