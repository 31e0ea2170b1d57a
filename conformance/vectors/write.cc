// Writing cases as JSON, one line for each; conformance/cases/cases.cc reads them.
#include <nlohmann/json.hpp>

#include "conformance/vectors/vectors.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const CaseTensor& tensor) {
  ordered_json json{{"type", tensor.type}, {"shape", tensor.shape}};
  if (tensor.strides) json["strides"] = *tensor.strides;
  json["bits"] = tensor.bits;
  return json;
}

ordered_json to_json(const CaseAttribute& attribute) {
  return std::visit([](const auto& value) { return ordered_json(value); }, attribute);
}

ordered_json to_json(const Case& c) {
  ordered_json json{{"name", c.name}, {"dialect", c.dialect}, {"version", c.version}};
  if (!c.operator_name.empty()) json["operator"] = c.operator_name;
  if (!c.attributes.empty()) {
    ordered_json& attributes = json["attributes"] = ordered_json::object();
    for (const auto& [name, value] : c.attributes) attributes[name] = to_json(value);
  }
  ordered_json& inputs = json["inputs"] = ordered_json::object();
  for (const auto& [name, tensor] : c.inputs) inputs[name] = to_json(tensor);
  ordered_json& expect = json["expect"] = ordered_json::object();
  if (c.expect) {
    expect["y"] = to_json(*c.expect);
  } else {
    expect["error"] = true;
    json["rule"] = c.rule;
  }
  return json;
}

}  // namespace

std::string to_json(const Request& request, const std::vector<Vector>& vectors) {
  const std::string version =
      request.version.empty() ? newest_version(request.dialect) : request.version;
  const std::string about = fmt::format("dequant vectors {} --version {} --seed {} -n {}",
                                        request.dialect, version, request.seed, request.random);
  std::string text =
      fmt::format("{{\"format\": \"dequant-cases\", \"version\": 1, \"about\": {},\n\"cases\": [",
                  ordered_json(about).dump());
  for (size_t i = 0; i < vectors.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    text += to_json(vectors[i].c).dump();
  }
  return text + "\n]}\n";
}

}  // namespace dequant::conformance::vectors
