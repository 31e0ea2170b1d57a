// What an accepted description must be and do.
#include "fuzz/support/description.h"

#include "dequant.h"
#include "dequant/isa.h"
#include "fuzz/support/every_way.h"
#include "fuzz/support/model.h"

namespace dequant::fuzz {
namespace {

__extension__ using SignedWide = __int128;

using Dims = std::vector<int64_t>;

struct Layout {
  Dims sizes;
  Dims strides;
  uint64_t bytes = 0;
};

Layout layout_of(const DML_TENSOR_DESC& tensor) {
  const auto& desc = *static_cast<const DML_BUFFER_TENSOR_DESC*>(tensor.Desc);
  Layout out;
  out.sizes.assign(desc.Sizes, desc.Sizes + desc.DimensionCount);
  out.strides.resize(out.sizes.size());
  int64_t packed = 1;
  for (size_t d = out.sizes.size(); d-- > 0; packed *= out.sizes[d]) {
    out.strides[d] = desc.Strides == nullptr ? packed : int64_t{desc.Strides[d]};
  }
  out.bytes = desc.TotalTensorSizeInBytes;
  return out;
}

/// Input, scale, zero point where there is one, output.
struct Layouts {
  Layout x, scale, y;
  std::optional<Layout> zero;
  bool midpoint = false;  ///< what an absent zero point stands for, of unsigned types
};

Layouts layouts_of(const DML_OPERATOR_DESC& desc) {
  if (desc.Type == DML_OPERATOR_DEQUANTIZE) {
    const auto& op = *static_cast<const DML_DEQUANTIZE_OPERATOR_DESC*>(desc.Desc);
    Layouts out{layout_of(*op.InputTensor), layout_of(op.QuantizationTensors[0]),
                layout_of(*op.OutputTensor), std::nullopt, true};
    if (op.QuantizationTensorCount == 2) out.zero = layout_of(op.QuantizationTensors[1]);
    return out;
  }
  const auto& op = *static_cast<const DML_ELEMENT_WISE_DEQUANTIZE_LINEAR_OPERATOR_DESC*>(desc.Desc);
  Layouts out{layout_of(*op.InputTensor), layout_of(*op.ScaleTensor), layout_of(*op.OutputTensor),
              std::nullopt, false};
  if (op.ZeroPointTensor != nullptr) out.zero = layout_of(*op.ZeroPointTensor);
  return out;
}

/// Where an index of x lies in a tensor whose sizes divide those of x.
int64_t offset_in(const Layout& tensor, const Indices& at, const Dims& sizes) {
  int64_t offset = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    offset += at[d] / (sizes[d] / tensor.sizes[d]) * tensor.strides[d];
  }
  return offset;
}

/// Buffers of just the bytes that the operator asks for, or none where they are many.
std::optional<Tensors> bound(const directml::Operator& op, Cursor& cursor) {
  constexpr uint64_t kMost = uint64_t{1} << 18;
  auto tensors = tensors_of(op.plan, cursor);
  if (!tensors || op.output_bytes > kMost) return std::nullopt;
  for (const uint64_t bytes : op.input_bytes) {
    if (bytes > kMost) return std::nullopt;
  }
  const auto grown = [](const Exact& tensor, uint64_t bytes) {
    require(bytes >= tensor.bytes().size(), "a binding smaller than its tensor");
    Exact out(bytes);
    std::ranges::copy(tensor.bytes(), out.bytes().begin());
    return out;
  };
  tensors->x = grown(tensors->x, op.input_bytes[0]);
  tensors->scale = grown(tensors->scale, op.input_bytes[1]);
  tensors->zero_point = grown(tensors->zero_point, op.input_bytes[2]);
  require(op.output_bytes >= tensors->y_bytes, "a binding smaller than the output");
  tensors->y_bytes = op.output_bytes;
  tensors->y_offset = 0;
  return tensors;
}

Status execute(const directml::Operator& op, const Tensors& t, Exact& y) {
  const std::array inputs{t.x.bytes(), t.scale.bytes(), t.zero_point.bytes()};
  return directml::execute(op, std::span(inputs).first(op.input_count), y.bytes(),
                           {sequential_executor()});
}

/// What every target writes.
Exact executed(const directml::Operator& op, const Tensors& t) {
  std::optional<Exact> first;
  for (const std::string_view target : targets()) {
    require(bool{force_target(target)}, "a target is unknown");
    Exact y = t.y();
    require(accepted(execute(op, t, y)), "an operator compiles but does not execute");
    require(!first || *first == y, "two targets, two results");
    first = std::move(y);
  }
  if (op.output_bytes > 0) {
    Exact less(op.output_bytes - 1);
    require(!accepted(execute(op, t, less)) && untouched(less), "a short output is taken");
  }
  return *std::move(first);
}

void check_elements(const directml::Operator& op, const Layouts& l, const Tensors& t,
                    const Exact& y) {
  Plan types = op.plan;  // the model takes no more from it than types and what is absent
  const bool is_unsigned = kind(types.input) == Kind::unsigned_integer;
  types.implicit_zero_point =
      l.midpoint && !l.zero && is_unsigned ? int32_t{1} << (bits(types.input) - 1) : 0;
  check_model(types, t, y, element_count(op.plan), [&](int64_t i) -> Offsets {
    const Indices at = indices_of(i, l.x.sizes);
    return {offset_in(l.x, at, l.x.sizes), offset_in(l.scale, at, l.x.sizes),
            l.zero ? offset_in(*l.zero, at, l.x.sizes) : 0, offset_in(l.y, at, l.x.sizes)};
  });
}

struct Free {
  void operator()(dequant_plan* plan) const { dequant_plan_free(plan); }
};
using PlanInC = std::unique_ptr<dequant_plan, Free>;

/// The C API says the same.
PlanInC planned_in_c(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level,
                     const Result<directml::Operator>& made) {
  dequant_plan* plan = nullptr;
  dequant_error error{};
  error.struct_size = sizeof error;
  const dequant_code code = dequant_plan_directml(&desc, level, &plan, &error);
  PlanInC out(plan);
  require((code == DEQUANT_OK) == static_cast<bool>(made), "C and C++ differ on a description");
  require((plan != nullptr) == static_cast<bool>(made), "a plan of a failure, or none of success");
  require((error.message[0] == '\0') == static_cast<bool>(made), "refused in C without a reason");
  if (!made) return out;
  dequant_sizes sizes{};
  sizes.struct_size = sizeof sizes;
  require(dequant_plan_sizes(plan, &sizes, nullptr) == DEQUANT_OK, "a plan without sizes");
  require(sizes.x_bytes == made->input_bytes[0] && sizes.scale_bytes == made->input_bytes[1] &&
              sizes.zero_point_bytes == made->input_bytes[2] && sizes.y_bytes == made->output_bytes,
          "other sizes in C");
  return out;
}

/// And does the same.
void check_run_in_c(const dequant_plan* plan, const Tensors& t, const Exact& expected) {
  Exact y = t.y();
  dequant_buffers b{};
  b.struct_size = sizeof b;
  b.x = t.x.bytes().data();
  b.x_bytes = t.x.bytes().size();
  b.scale = t.scale.bytes().data();
  b.scale_bytes = t.scale.bytes().size();
  b.zero_point = t.zero_point.bytes().data();
  b.zero_point_bytes = t.zero_point.bytes().size();
  b.y = y.bytes().data();
  b.y_bytes = y.bytes().size();
  require(dequant_run(plan, &b, nullptr, nullptr) == DEQUANT_OK, "C does not run what C++ does");
  require(y == expected, "C and C++ differ");
}

}  // namespace

void check_description(const DML_OPERATOR_DESC& desc, DML_FEATURE_LEVEL level, Cursor& cursor) {
  const Result<directml::Operator> made = directml::compile(desc, level);
  const Result<directml::Operator> again = directml::compile(desc, level);
  require(accepted(made) == accepted(again), "compiled twice, refused once");
  const PlanInC in_c = planned_in_c(desc, level, made);
  if (!made) {
    require(made.error().message == again.error().message, "refused twice, for two reasons");
    return;
  }
  require(made->plan == again->plan, "compiled twice, two plans");
  const Layouts layouts = layouts_of(desc);
  require(made->input_count == (layouts.zero ? 3U : 2U), "another number of inputs");
  require(made->input_bytes[0] == layouts.x.bytes && made->output_bytes == layouts.y.bytes,
          "bindings of other sizes");
  require(layouts.y.sizes == layouts.x.sizes, "an output of other sizes");
  const auto tensors = bound(*made, cursor);
  if (!tensors) return;
  const Exact y = executed(*made, *tensors);
  check_elements(*made, layouts, *tensors, y);
  check_run_in_c(in_c.get(), *tensors, y);
}

void check_tensor_size(DML_TENSOR_DATA_TYPE type, const std::vector<UINT>& sizes,
                       const std::vector<UINT>& strides) {
  constexpr std::array<int, 14> kBits{0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4};
  const Result<uint64_t> given = directml::buffer_tensor_size(type, sizes, strides);
  const auto number = static_cast<size_t>(type);
  const bool packed = strides.empty();
  bool good = number >= 1 && number < kBits.size() && !sizes.empty() && sizes.size() <= 8 &&
              (packed || strides.size() == sizes.size());
  SignedWide elements = 1;
  for (size_t d = 0; good && d < sizes.size(); ++d) {
    elements = packed ? elements * sizes[d] : elements + SignedWide{sizes[d] - 1} * strides[d];
    good = sizes[d] > 0 && elements <= (packed ? SignedWide{UINT64_MAX} : SignedWide{1} << 32);
  }
  const SignedWide total = good ? elements * kBits[number] : 0;
  good = good && total <= SignedWide{UINT64_MAX} - 31;
  require(accepted(given) == good, "a size of a tensor that has none, or none of one that has");
  require(!good || *given == (total + 31) / 32 * 4, "another size");
}

}  // namespace dequant::fuzz
