// Nodes of ai.onnx and com.microsoft: planned, judged by the words of the specification, run.
#include "dequant/microsoft.h"
#include "dequant/onnx.h"
#include "fuzz/support/element.h"
#include "fuzz/support/every_way.h"
#include "fuzz/support/model.h"

namespace dequant::fuzz {
namespace {

using Dims = std::vector<int64_t>;

struct Input {
  bool microsoft = false;
  Dims x, scale, zero_point;
  onnx::DequantizeLinear node;  ///< of com.microsoft: the parts that it has
};

/// Mostly shapes that belong together.
void set_shapes(Input& in, Cursor& cursor) {
  in.x = cursor.shape();
  const auto rank = static_cast<int64_t>(in.x.size());
  in.node.axis = cursor.integer(-rank, std::max<int64_t>(rank - 1, 0));
  const int64_t axis = *in.node.axis < 0 ? *in.node.axis + rank : *in.node.axis;
  const bool on_axis = axis >= 0 && axis < rank;
  const size_t how = cursor.below(8);
  if (how >= 2 && how <= 3 && on_axis) in.scale = {in.x[static_cast<size_t>(axis)]};
  if (how == 1) in.scale = {1};
  if (how >= 4 && how <= 6) {
    in.scale = in.x;
    const int64_t block = cursor.integer(1, 8);
    in.node.block_size = block;
    if (block > 0 && on_axis) {
      int64_t& blocks = in.scale[static_cast<size_t>(axis)];
      blocks = blocks / block + (blocks % block > 0 ? 1 : 0);
    }
  }
  if (how == 7) {
    in.scale = cursor.shape();
    in.node.block_size = cursor.integer(0, 8);
  }
  in.zero_point = cursor.rarely() ? cursor.shape() : in.scale;
  if (cursor.rarely()) in.node.axis.reset();
}

void set_types(Input& in, Cursor& cursor) {
  using enum Element;
  constexpr std::array<int64_t, 5> kDtypes{0, 1, 10, 16, 17};
  const Element x = cursor.rarely() ? element(cursor, {uint32}) : cursor.pick(elements());
  in.node.x = {x, in.x};
  in.node.x_scale = {element(cursor, {float32, float16, bfloat16, float8e8m0}), in.scale};
  if (cursor.coin()) in.node.x_zero_point = {element(cursor, {x}), in.zero_point};
  if (cursor.coin()) in.node.output_dtype = cursor.pick(kDtypes);
  if (cursor.rarely()) in.node.output_dtype = cursor.integer(0, 30);
}

Result<Plan> plan(const Input& in, const onnx::DequantizeLinear& n) {
  if (!in.microsoft) return onnx::dequantize_linear(n);
  return microsoft::dequantize_linear({n.opset, n.x, n.x_scale, n.x_zero_point, n.axis});
}

enum class Kind { none, tensor, axis, block };

/// How the scales belong to x by the specification's words on shapes; none where they do not.
Kind granularity(const Input& in, int64_t& axis) {
  const auto rank = static_cast<int64_t>(in.x.size());
  const int64_t block = in.microsoft ? 0 : in.node.block_size.value_or(0);
  const bool single = in.scale.empty() || in.scale == Dims{1};
  const bool alike =
      in.zero_point == in.scale || (single && (in.zero_point.empty() || in.zero_point == Dims{1}));
  if (in.node.x_zero_point && !alike) return Kind::none;
  if (block == 0 && single) return Kind::tensor;
  axis = in.node.axis.value_or(1);
  if (axis < -rank || axis >= rank) return Kind::none;
  if (axis < 0) axis += rank;
  const auto at = static_cast<size_t>(axis);
  if (block == 0) return in.scale == Dims{in.x[at]} ? Kind::axis : Kind::none;
  if (block < 0) return Kind::none;
  Dims scale = in.x;
  scale[at] = scale[at] / block + (scale[at] % block > 0 ? 1 : 0);
  return in.scale == scale ? Kind::block : Kind::none;
}

bool is_known(Element element) { return static_cast<size_t>(element) < elements().size(); }

/// True where nothing but the shapes can be wrong.
bool types_are_good(const Input& in) {
  const auto& n = in.node;
  const int64_t dtype = n.output_dtype.value_or(0);
  const auto small = [](const Dims& dims) {
    return dims.size() <= 4 && std::ranges::all_of(dims, [](int64_t d) { return d < 1000; });
  };
  return !in.microsoft && n.opset >= 25 && n.opset <= onnx::kNewestOpset && is_known(n.x.element) &&
         is_input(n.x.element) && n.x.element != Element::uint32 &&
         (bits(n.x.element) != 6 || n.opset >= 28) && is_known(n.x_scale.element) &&
         (is_output(n.x_scale.element) || n.x_scale.element == Element::float8e8m0) &&
         (!n.x_zero_point || n.x_zero_point->element == n.x.element) &&
         (dtype == 1 || dtype == 10 || dtype == 16) && small(in.x) && small(in.scale);
}

bool any_negative(const Dims& dims) {
  return std::ranges::any_of(dims, [](int64_t d) { return d < 0; });
}

void fuzz(Cursor cursor) {
  Input in;
  in.microsoft = cursor.below(4) == 3;
  set_shapes(in, cursor);
  set_types(in, cursor);
  constexpr std::array<int64_t, 8> kOpsets{25, 25, 28, 24, 23, 21, 19, 13};
  in.node.opset = in.microsoft ? 1 : cursor.pick(kOpsets);
  if (cursor.rarely()) in.node.opset = cursor.integer(0, 30);

  const Result<Plan> made = planned([&] { return plan(in, in.node); });
  int64_t axis = 0;
  const Kind kind = granularity(in, axis);
  const bool legal = kind != Kind::none && !any_negative(in.x);
  if (made) require(legal, "shapes that do not belong together are accepted");
  if (!made) require(!legal || !types_are_good(in), "a good node is refused");
  if (!made) return;
  const auto tensors = tensors_of(*made, cursor);
  if (!tensors) return;
  const auto y = run_several_ways(*made, *tensors, cursor);
  if (!y) return;
  check_model(*made, *tensors, *y, element_count(*made), [&](int64_t i) -> Offsets {
    Indices at = indices_of(i, in.x);
    const auto on = static_cast<size_t>(axis);
    int64_t param = kind == Kind::axis ? at[on] : 0;
    if (kind == Kind::block) {
      at[on] /= *in.node.block_size;
      param = index_of(at, in.scale);
    }
    return {i, param, param, i};
  });
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dequant::fuzz::fuzz({data, size});
  return 0;
}
