// Running a case: makes a node, plans it, runs the plan, and compares the output.
#include "conformance/cases/run_case.h"

#include <algorithm>
#include <array>
#include <variant>
#include <vector>

#include "conformance/cases/dialects/dialects.h"
#include "conformance/cases/dialects/read.h"
#include "format/io/errors.h"

namespace dequant::conformance {

using format::failure;
using format::TensorData;

namespace {

/// True for an error that refuses the node, which some cases expect; other errors are about the
/// case.
bool is_refusal(const Error& error) {
  return error.code == ErrorCode::invalid_argument || error.code == ErrorCode::unsupported;
}

/// The outcome of a refused node: passed if the case expects a refusal.
Outcome refused(const Case& c, const Error& error) {
  return {c.name,
          c.expect ? Verdict::failed : Verdict::passed,
          fmt::format("refused: {}", error.message),
          {}};
}

/// A plan, an operator of DirectML, which has buffer sizes of its own, or a scheme's plan, which
/// says what each of its tensors is.
using Planned = std::variant<Plan, dequant::directml::Operator, SchemePlan>;

/// Plans the node by the dialect of the case, which parse_cases() has checked.
Result<Planned> plan_case(const Case& c) {
  const auto planned = [](auto result) -> Result<Planned> {
    if (!result) return std::move(result).error();
    return Planned(*std::move(result));
  };
  if (c.dialect == "onnx") return planned(plan_onnx(c));
  if (c.dialect == "microsoft") return planned(plan_microsoft(c));
  if (c.dialect == "tensorflow") return planned(plan_tensorflow(c));
  if (c.dialect == "directml") return planned(compile_directml(c));
  if (c.dialect == "webnn") return planned(plan_webnn(c));
  return planned(plan_checkpoint(c));
}

const Plan& plan_of(const Planned& planned) {
  if (const auto* op = std::get_if<dequant::directml::Operator>(&planned)) return op->plan;
  if (const auto* scheme = std::get_if<SchemePlan>(&planned)) return scheme->plan;
  return std::get<Plan>(planned);
}

/// The packed inputs of a plan; empty where the plan has no such input.
struct Inputs {
  std::vector<std::byte> x, scale, zero_point, min_range, max_range, tensor_scale, group_index,
      codebook;
};

/// The codes of an input, if the plan reads any. With strides, the codes must reach as far as
/// these.
Result<std::vector<std::byte>> codes_of(const Case& c, const char* name, Element element,
                                        int64_t extent) {
  const auto found = c.inputs.find(name);
  if (found == c.inputs.end()) return std::vector<std::byte>();
  DEQUANT_TRY(TensorData data, materialize(name, found->second, element));
  const size_t held = found->second.bits.size();
  if (static_cast<int64_t>(held) >= extent) return std::move(data.bytes);
  return failure(ErrorCode::invalid_argument, "{}: strides reach {} elements where {} are stored",
                 name, extent, held);
}

/// The tensors of a scheme, each packed by its own type.
Result<Inputs> inputs_of(const Case& c, const SchemePlan& scheme) {
  Inputs in;
  const std::pair<std::optional<size_t>, std::vector<std::byte>*> places[]{
      {scheme.x, &in.x},
      {scheme.scale, &in.scale},
      {scheme.zero_point, &in.zero_point},
      {scheme.tensor_scale, &in.tensor_scale},
      {scheme.group_index, &in.group_index},
      {scheme.codebook, &in.codebook},
  };
  size_t index = 0;
  for (const auto& [name, tensor] : c.inputs) {
    DEQUANT_TRY(const TensorType type, tensor_type(name, tensor));
    DEQUANT_TRY(TensorData data, materialize(name, tensor, type.element));
    for (const auto& [place, bytes] : places) {
      if (place == index) *bytes = std::move(data.bytes);
    }
    ++index;
  }
  const auto values = std::as_bytes(scheme.values);
  if (!scheme.codebook) in.codebook.assign(values.begin(), values.end());
  return in;
}

Result<Inputs> inputs_of(const Case& c, const Planned& planned) {
  if (const auto* scheme = std::get_if<SchemePlan>(&planned)) return inputs_of(c, *scheme);
  const Plan& plan = plan_of(planned);
  const Extents extent = extents(plan);
  Inputs in;
  DEQUANT_TRY(in.x, codes_of(c, "x", plan.input, extent.x));
  DEQUANT_TRY(in.scale, codes_of(c, "scale", plan.scale, extent.scale));
  DEQUANT_TRY(in.zero_point, codes_of(c, "zero_point", plan.input, extent.zero_point));
  DEQUANT_TRY(in.min_range, codes_of(c, "min_range", plan.scale, extent.min_range));
  DEQUANT_TRY(in.max_range, codes_of(c, "max_range", plan.scale, extent.max_range));
  return in;
}

/// Pads to the size of DirectML's buffers, a multiple of 4 bytes.
void round_up(std::vector<std::byte>& bytes) { bytes.resize((bytes.size() + 3) / 4 * 4); }

Status execute(const Planned& planned, Inputs& in, std::span<std::byte> y) {
  const auto* op = std::get_if<dequant::directml::Operator>(&planned);
  if (op == nullptr) {
    const auto* scheme = std::get_if<SchemePlan>(&planned);
    return run(plan_of(planned),
               {in.x, in.scale, in.zero_point, y, in.min_range, in.max_range, in.tensor_scale,
                in.group_index, in.codebook, scheme != nullptr ? &scheme->names : nullptr});
  }
  std::array<std::span<const std::byte>, 3> bound;
  for (size_t i = 0; std::vector<std::byte> * bytes : {&in.x, &in.scale, &in.zero_point}) {
    round_up(*bytes);
    bound[i++] = *bytes;
  }
  return dequant::directml::execute(*op, std::span(bound).first(op->input_count), y);
}

/// A buffer for y with a pattern, which shows bytes that a run does not write, and bytes that a
/// failed run writes.
constexpr std::byte kUnwritten{0xA5};

Result<TensorData> room_for_y(const Case& c, const Planned& planned) {
  const Plan& plan = plan_of(planned);
  // With strides of zero a small file can have a very large y, which must not use up all memory.
  constexpr int64_t kMostElements = int64_t{1} << 26;
  if (element_count(plan) > kMostElements) {
    return failure(ErrorCode::limit, "y: {} elements are more than the {} that a case may have",
                   element_count(plan), kMostElements);
  }
  DEQUANT_TRY(const int64_t packed, packed_bytes(plan.output, element_count(plan)));
  auto size = static_cast<size_t>(packed);
  if (const auto* op = std::get_if<dequant::directml::Operator>(&planned)) {
    size = static_cast<size_t>(op->output_bytes);
  }
  const auto* scheme = std::get_if<SchemePlan>(&planned);
  return TensorData{plan.output, scheme == nullptr ? c.inputs.at("x").shape : scheme->shape,
                    std::vector<std::byte>(size, kUnwritten)};
}

Result<Outcome> judged(const Case& c, const TensorData& y) {
  if (!c.expect) return Outcome{c.name, Verdict::failed, "not refused: y was computed", {}};
  return judge_expected(c, y);
}

/// Runs the plan on the inputs of the case and compares the output.
Result<Outcome> run_planned(const Case& c, const Planned& planned) {
  DEQUANT_TRY(Inputs inputs, inputs_of(c, planned));
  DEQUANT_TRY(TensorData y, room_for_y(c, planned));
  Status done = execute(planned, inputs, y.bytes);
  if (done) return judged(c, y);
  const bool untouched =
      std::all_of(y.bytes.begin(), y.bytes.end(), [](std::byte b) { return b == kUnwritten; });
  if (untouched || !is_refusal(done.error())) return std::move(done).error();
  return Outcome{c.name, Verdict::failed, "refused, but y was written to", {}};
}

Result<Outcome> run_node(const Case& c) {
  DEQUANT_TRY(const Planned planned, plan_case(c));
  return run_planned(c, planned);
}

}  // namespace

Result<Outcome> judge_expected(const Case& c, const TensorData& y) {
  DEQUANT_TRY(const TensorType type, tensor_type("expect.y", *c.expect));
  DEQUANT_TRY(const TensorData expected, materialize("expect.y", *c.expect, type.element));
  Outcome outcome = judge("y", y, expected, {c.ulp, c.ignore_zero_sign});
  outcome.name = c.name;
  return outcome;
}

Result<TensorData> compute_case(const Case& c) {
  DEQUANT_TRY(const Planned planned, plan_case(c));
  DEQUANT_TRY(Inputs inputs, inputs_of(c, planned));
  DEQUANT_TRY(TensorData y, room_for_y(c, planned));
  DEQUANT_CHECK(execute(planned, inputs, y.bytes));
  return y;
}

Result<Outcome> run_case(const Case& c) {
  auto outcome = run_node(c);
  if (outcome || !is_refusal(outcome.error())) return outcome;
  return refused(c, outcome.error());
}

}  // namespace dequant::conformance
