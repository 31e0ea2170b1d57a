// Schemes of checkpoints: one function for all, with tensors and options by name.
#include "dequant/scheme.h"

#include <nanobind/stl/string.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "python/core/call.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

/// The names and the values of a dict of strings.
std::deque<std::pair<std::string, std::string>> strings(nb::dict dict) {
  std::deque<std::pair<std::string, std::string>> out;
  for (const auto& [key, value] : dict) {
    std::string name = text("option", key);
    out.emplace_back(name, text(name.c_str(), value));
  }
  return out;
}

nb::object dequantize(nb::handle scheme, nb::dict tensors, nb::dict options, nb::handle dtype,
                      nb::handle out, nb::handle threads, nb::handle like) {
  const std::string name = text("scheme", scheme);
  std::deque<std::string> names;
  std::deque<Tensor> inputs;
  std::vector<SchemeTensor> types;
  for (const auto& [key, value] : tensors) {
    names.push_back(text("tensor", key));
    inputs.emplace_back(names.back().c_str(), value);
    types.push_back({names.back(), inputs.back().type()});
  }
  std::vector<const Tensor*> given_inputs;
  for (const Tensor& input : inputs) given_inputs.push_back(&input);
  const auto settings = strings(options);
  std::vector<SchemeOption> given;
  for (const auto& [option, value] : settings) given.push_back({option, value});
  const Element output = output_of("dtype", dtype).value_or(Element::float32);
  const SchemePlan dense = checked(plan_scheme({name, types, given, output}));
  const auto bytes = [&](std::optional<size_t> i) {
    return i ? inputs[*i].bytes() : std::span<const std::byte>();
  };
  const auto codebook = dense.codebook ? bytes(dense.codebook) : std::as_bytes(dense.values);
  return run_plan(dense.plan,
                  {.x = bytes(dense.x),
                   .scale = bytes(dense.scale),
                   .zero_point = bytes(dense.zero_point),
                   .y = {},
                   .tensor_scale = bytes(dense.tensor_scale),
                   .group_index = bytes(dense.group_index),
                   .codebook = codebook,
                   .names = &dense.names},
                  dense.shape, {out, threads, like}, Inputs(given_inputs));
}

/// name -> (names of its tensors, of these the required ones, names of its options, description)
nb::dict listed() {
  const auto names = [](const auto& list, auto wanted) {
    nb::list out;
    for (const auto& item : list) {
      if (wanted(item)) out.append(nb::str(item.name.data(), item.name.size()));
    }
    return nb::tuple(out);
  };
  nb::dict out;
  for (const Scheme& s : schemes()) {
    std::string lines(s.producers);
    lines.append(".\n");
    const auto line = [&lines](std::string_view name, std::string_view what) {
      lines.append("\n").append(name).append(": ").append(what);
    };
    for (const SchemeInput& i : s.inputs) line(i.name, i.what);
    for (const SchemeSetting& o : s.settings) line(o.name, o.what);
    out[nb::str(s.name.data(), s.name.size())] =
        nb::make_tuple(names(s.inputs, [](const SchemeInput&) { return true; }),
                       names(s.inputs, [](const SchemeInput& i) { return i.required; }),
                       names(s.settings, [](const SchemeSetting&) { return true; }), lines);
  }
  return out;
}

}  // namespace

void add_schemes(nb::module_& core) {
  core.def("dequantize_scheme", dequantize, "scheme"_a, "tensors"_a, "options"_a, "dtype"_a.none(),
           "out"_a.none(), "threads"_a.none(), "like"_a.none());
  core.attr("SCHEMES") = listed();
}

}  // namespace dequant::python
