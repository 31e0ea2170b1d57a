// The dialects and versions, and the functions that make their cases.
#include "conformance/vectors/vectors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "conformance/cases/cases.h"
#include "conformance/directml/node.h"
#include "conformance/vectors/checkpoint.h"
#include "conformance/vectors/directml.h"
#include "conformance/vectors/linear.h"
#include "conformance/vectors/tensorflow.h"
#include "conformance/vectors/webnn.h"
#include "dequant/onnx.h"
#include "format/io/errors.h"

namespace dequant::conformance::vectors {

using format::escaped;
using format::failure;

namespace {

constexpr int64_t kOldestOpset = dequant::onnx::kVersionOpsets.front();

std::optional<int64_t> opset_of(const std::string& version) {
  int64_t opset = 0;
  const char* end = version.data() + version.size();
  const auto [stop, problem] = std::from_chars(version.data(), end, opset);
  const bool number = problem == std::errc() && stop == end && version == std::to_string(opset);
  if (!number || opset < kOldestOpset || opset > dequant::onnx::kNewestOpset) return std::nullopt;
  return opset;
}

bool is_version(const std::string& dialect, const std::string& version) {
  if (dialect == "onnx") return opset_of(version).has_value();
  if (dialect == "directml") return directml::feature_level_from_name(version).has_value();
  const auto known = versions(dialect);
  return std::find(known.begin(), known.end(), version) != known.end();
}

/// The versions that make() accepts, as text for a message.
std::string all_versions(const std::string& dialect) {
  const auto known = versions(dialect);
  if (dialect == "onnx")
    return fmt::format("opsets {} to {}", kOldestOpset, dequant::onnx::kNewestOpset);
  if (dialect == "directml")
    return fmt::format("feature levels {} to {}", known.front(), known.back());
  return fmt::format("{}", fmt::join(known, ", "));
}

Status check(const Request& request) {
  const auto known = versions(request.dialect);
  if (known.empty()) {
    return failure(ErrorCode::invalid_argument, "dialect: {} is not one of {}",
                   escaped(request.dialect), fmt::join(dialects(), ", "));
  }
  if (!request.version.empty() && !is_version(request.dialect, request.version)) {
    return failure(ErrorCode::invalid_argument, "version: {} is none of {}, which has {}",
                   escaped(request.version), request.dialect, all_versions(request.dialect));
  }
  if (request.random >= 0 && request.random <= kMostRandom) return {};
  return failure(ErrorCode::invalid_argument, "number of random cases: {} is outside [0, {}]",
                 request.random, kMostRandom);
}

void add_linear(Collector& out, const LinearRules& rules, int64_t random) {
  add_linear_types(out, rules);
  add_linear_shapes(out, rules);
  add_linear_refusals(out, rules);
  add_linear_random(out, rules, random);
}

}  // namespace

std::vector<std::string> dialects() { return conformance::dialects(); }

std::vector<std::string> versions(std::string_view dialect) {
  if (dialect == "onnx") {
    std::vector<std::string> all;
    for (const int opset : dequant::onnx::kVersionOpsets) all.push_back(std::to_string(opset));
    return all;
  }
  if (dialect == "tensorflow") return {"1.4", "2"};
  if (dialect == "directml") return {"1_0", "2_1", "3_0", "6_0", "6_2", "6_3", "6_4"};
  const auto known = dialects();
  if (std::find(known.begin(), known.end(), dialect) != known.end()) return {"1"};
  return {};
}

std::string newest_version(std::string_view dialect) {
  const auto known = versions(dialect);
  return known.empty() ? std::string() : known.back();
}

Result<std::vector<Vector>> make(const Request& request) {
  DEQUANT_CHECK(check(request));
  const std::string version =
      request.version.empty() ? newest_version(request.dialect) : request.version;
  Collector out(request.dialect, version, request.seed);
  if (request.dialect == "onnx") {
    add_linear(out, onnx_rules(*opset_of(version)), request.random);
  } else if (request.dialect == "microsoft") {
    add_linear(out, microsoft_rules(), request.random);
  } else if (request.dialect == "tensorflow") {
    add_tensorflow(out, version);
    add_tensorflow_random(out, version, request.random);
  } else if (request.dialect == "directml") {
    add_directml(out, version);
    add_directml_random(out, version, request.random);
  } else if (request.dialect == "webnn") {
    add_webnn(out);
    add_webnn_random(out, request.random);
  } else {
    add_checkpoint(out, request.dialect);
    add_checkpoint_random(out, request.dialect, request.random);
  }
  return std::move(out).finish();
}

}  // namespace dequant::conformance::vectors
