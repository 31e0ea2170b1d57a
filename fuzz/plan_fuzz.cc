// Plans that no dialect made: any numbers in any member. What run() takes must run like any other
// plan, strided or not; what it refuses must not be touched.
#include "dequant/plan.h"

#include "fuzz/support/element.h"
#include "fuzz/support/every_way.h"
#include "fuzz/support/model.h"

namespace dequant::fuzz {
namespace {

/// Strides of y that lie apart, and of x that are packed or any; dimensions in an order of their
/// own.
void read_dimensions(Plan& plan, Cursor& cursor) {
  plan.dimensions.resize(cursor.rarely() ? cursor.below(30) : cursor.below(5) + 1);
  const bool packed = cursor.coin();
  const bool gaps = cursor.coin();
  int64_t apart = 1;
  int64_t next = 1;
  for (Dimension& d : plan.dimensions) {
    d.size = cursor.size();
    d.x = packed ? next : cursor.integer(-8, 40);
    d.scale = cursor.coin() ? 0 : cursor.integer(-2, 5);
    d.zero_point = cursor.coin() ? d.scale : cursor.integer(-2, 5);
    d.y = cursor.rarely() ? cursor.integer(-2, 64) : apart;
    if (__builtin_mul_overflow(next, d.size, &next)) next = 1;
    if (__builtin_mul_overflow(apart, d.size, &apart)) apart = 1;
    if (gaps && __builtin_add_overflow(apart, int64_t{cursor.byte() % 4}, &apart)) apart = 1;
  }
  if (cursor.coin()) {
    std::ranges::reverse(plan.dimensions);
    return;
  }
  for (size_t i = 0; i + 1 < plan.dimensions.size(); ++i) {
    std::swap(plan.dimensions[i], plan.dimensions[i + cursor.below(plan.dimensions.size() - i)]);
  }
}

/// A layout of codes, rarely with numbers that its order does not have.
Packing read_packing(Cursor& cursor) {
  using enum CodeOrder;
  Packing p;
  p.order = enumerator<CodeOrder>(cursor, 8);
  p.bits = static_cast<int32_t>(cursor.integer(1, 8));
  const bool four = p.order == high_first || p.order == interleaved;
  if (four && !cursor.rarely()) p.bits = 4;
  const bool rows = p.order >= words && p.order <= planes;
  if (rows || cursor.rarely()) p.row = cursor.integer(1, 70);
  if (p.order == planes && !cursor.rarely()) p.row = 32 * (p.row % 3 + 1);
  if (p.order >= slabs || (rows && cursor.coin()) || cursor.rarely()) {
    p.columns = cursor.integer(0, 40);
  }
  if (p.order == of_element && !cursor.rarely()) return {};
  return p;
}

/// True if the bytes of a tensor with such a layout may be asked for.
bool is_modest(const Packing& p) {
  constexpr int64_t kMost = 1 << 12;
  if (p.order == CodeOrder::of_element) return true;
  const bool slabs = p.order >= CodeOrder::slabs;
  const bool rows = p.order != CodeOrder::high_first && !slabs;
  return p.order <= CodeOrder::slabs_high_first && p.bits >= 1 && p.bits <= 8 &&
         p.row >= (rows ? 1 : 0) && p.row <= kMost && p.columns >= (slabs ? 1 : 0) &&
         p.columns <= kMost;
}

/// What is done with products, and codes that are none of an element's own.
void read_arithmetic(Plan& plan, Cursor& cursor) {
  using enum Element;
  Parameters& p = plan.parameters;
  p.zero_point_role = enumerator<ZeroPointRole>(cursor, 3);
  const bool after = p.zero_point_role != ZeroPointRole::subtract_before;
  if (after && !cursor.rarely()) p.zero_point = element(cursor, {float32, float16, bfloat16});
  if (cursor.below(4) == 3) p.scale_rounding = element(cursor, {float16, bfloat16});
  if (cursor.below(4) == 3) p.result_rounding = element(cursor, {float16, bfloat16});
  if (cursor.below(4) == 3) p.result_factor = cursor.raw<float>();
  p.codebook = cursor.below(4) == 3;
  if (cursor.coin()) {
    plan.input = element(cursor, {uint8, int8});
    p.x_packing = read_packing(cursor);
  }
  if (cursor.below(4) == 3) p.zero_point_packing = read_packing(cursor);
}

/// Any numbers in the members of what checkpoints store, and blocks and an index on dimensions.
void read_parameters(Plan& plan, Cursor& cursor) {
  Parameters& p = plan.parameters;
  p.tensor_scale = enumerator<TensorScale>(cursor, 3);
  p.infinite_e8m0 = cursor.rarely();
  p.reciprocal_scale = cursor.rarely();
  if (cursor.coin()) p.zero_point = enumerator<Element>(cursor, 19);
  if (cursor.coin()) p.zero_point_offset = static_cast<int32_t>(cursor.integer(-260, 260));
  p.zero_point_overflow = enumerator<ZeroPointOverflow>(cursor, 3);
  if (cursor.coin()) read_arithmetic(plan, cursor);
  if (plan.granularity != Granularity::strided && !cursor.rarely()) return;
  const bool indexed = cursor.coin();
  if (indexed) {
    p.group_index = {cursor.integer(-1, 9), cursor.integer(-1, 5), cursor.integer(-1, 5)};
  }
  for (Dimension& d : plan.dimensions) {
    if (cursor.coin()) d.block = cursor.integer(0, 9);
    if (indexed && cursor.coin()) d.group_index = cursor.integer(-1, 5);
  }
}

/// Rows of whole blocks, rarely with something that such a plan does not have.
Plan read_blocks(Cursor& cursor) {
  using enum Element;
  Plan plan;
  plan.output = element(cursor, {float32, float16, bfloat16});
  const auto type = enumerator<BlockType>(cursor, block_types().size());
  plan.parameters.x_blocks = type;
  plan.granularity = cursor.rarely() ? enumerator<Granularity>(cursor, 4) : Granularity::blocked;
  plan.block = cursor.rarely() ? cursor.integer(1, 300) : block_elements(type);
  plan.outer = cursor.size();
  plan.axis = cursor.rarely() ? cursor.size() : cursor.below(5) * block_elements(type);
  if (cursor.rarely()) plan.inner = cursor.size();
  if (cursor.rarely()) plan.input = enumerator<Element>(cursor, 15);
  if (cursor.rarely()) plan.has_zero_point = true;
  if (cursor.coin()) plan.parameters.tensor_scale = enumerator<TensorScale>(cursor, 2);
  if (cursor.rarely()) read_parameters(plan, cursor);
  return plan;
}

Plan read(Cursor& cursor) {
  using enum Element;
  if (cursor.below(8) == 7) return read_blocks(cursor);
  Plan plan;
  plan.input = enumerator<Element>(cursor, 15);
  plan.scale = element(cursor, {float32, float16, bfloat16, float8e8m0, float8e4m3fn});
  plan.output = element(cursor, {float32, float16, bfloat16});
  plan.has_zero_point = cursor.coin();
  if (cursor.rarely()) plan.implicit_zero_point = static_cast<int32_t>(cursor.integer(-128, 127));
  if (cursor.below(4) == 3) {
    plan.rule = enumerator<Rule>(cursor, 8);
    plan.scale = Element::float32;
    plan.has_zero_point = plan.has_zero_point && cursor.rarely();
  }
  plan.granularity = enumerator<Granularity>(cursor, 4);
  if (plan.granularity == Granularity::strided || cursor.rarely()) read_dimensions(plan, cursor);
  if (cursor.below(4) == 3) read_parameters(plan, cursor);
  plan.inner = cursor.size();
  if (plan.granularity != Granularity::per_tensor || cursor.rarely()) {
    plan.outer = cursor.size();
    plan.axis = cursor.size();
  }
  if (plan.granularity == Granularity::blocked || cursor.rarely())
    plan.block = cursor.integer(1, 9);
  return plan;
}

/// Whether its extents may be asked for: no number that arithmetic on it could overflow.
bool is_modest(const Plan& plan) {
  const auto between = [](int64_t n, int64_t low, int64_t high) { return n >= low && n <= high; };
  const auto modest = [&](int64_t n) { return between(n, 0, 4096); };
  const auto stride = [&](int64_t n) { return between(n, -1024, int64_t{1} << 20); };
  const auto known = [](Element e) { return static_cast<size_t>(e) < elements().size(); };
  if (!known(plan.input) || !known(plan.scale) || !known(plan.output)) return false;
  if (plan.granularity > Granularity::strided || plan.block < 1 || plan.dimensions.size() > 5) {
    return false;
  }
  const GroupIndex& index = plan.parameters.group_index;
  if (!known(zero_point_element(plan)) || !modest(index.groups)) return false;
  if (!is_modest(plan.parameters.x_packing)) return false;
  if (!is_modest(plan.parameters.zero_point_packing)) return false;
  if (!modest(index.scale) || !modest(index.zero_point)) return false;
  return modest(plan.outer) && modest(plan.axis) && modest(plan.inner) &&
         std::ranges::all_of(plan.dimensions, [&](const Dimension& d) {
           return modest(d.size) && stride(d.x) && stride(d.scale) && stride(d.zero_point) &&
                  stride(d.y) && d.block > 0 && modest(d.group_index);
         });
}

/// Offset of an element in a buffer: strides below zero count down from the last.
int64_t offset_of(const Plan& plan, const Indices& at, int64_t Dimension::*stride) {
  int64_t offset = 0;
  for (size_t d = 0; d < plan.dimensions.size(); ++d) {
    const Dimension& dim = plan.dimensions[d];
    const int64_t step = dim.*stride;
    offset += step < 0 ? (dim.size - 1 - at[d]) * -step : at[d] * step;
  }
  return offset;
}

/// `shape` is that of the dimensions, or outer, axis, inner.
Offsets offsets_in(const Plan& plan, const std::vector<int64_t>& shape, int64_t i) {
  const Indices at = indices_of(i, shape);
  if (plan.granularity == Granularity::strided) {
    return {offset_of(plan, at, &Dimension::x), offset_of(plan, at, &Dimension::scale),
            offset_of(plan, at, &Dimension::zero_point), offset_of(plan, at, &Dimension::y)};
  }
  int64_t param = 0;
  if (plan.granularity == Granularity::per_axis) param = at[1];
  if (plan.granularity == Granularity::blocked) {
    const int64_t blocks = plan.axis / plan.block + (plan.axis % plan.block > 0 ? 1 : 0);
    param = (at[0] * blocks + at[1] / plan.block) * plan.inner + at[2];
  }
  return {i, param, param, i};
}

std::vector<int64_t> shape_of(const Plan& plan) {
  if (plan.granularity != Granularity::strided) return {plan.outer, plan.axis, plan.inner};
  std::vector<int64_t> shape;
  for (const Dimension& d : plan.dimensions) shape.push_back(d.size);
  return shape;
}

void fuzz(Cursor cursor) {
  const Plan plan = read(cursor);
  Exact nothing;
  if (!is_modest(plan)) {
    // Without memory only a plan of no elements and no scales can run.
    (void)accepted(run(plan, {{}, {}, {}, nothing.bytes()}, {sequential_executor()}));
    (void)accepted(run_range(plan, {0, cursor.extreme()}, {}, {sequential_executor()}));
    return;
  }
  const auto tensors = tensors_of(plan, cursor);
  if (!tensors) return;
  const auto y = run_several_ways(plan, *tensors, cursor);
  if (!y || plan.rule != Rule::subtract_then_scale || plan.parameters != Parameters{}) return;
  if (std::ranges::any_of(plan.dimensions, [](const Dimension& d) { return d.block > 1; })) return;
  const std::vector<int64_t> shape = shape_of(plan);
  check_model(plan, *tensors, *y, element_count(plan),
              [&](int64_t i) { return offsets_in(plan, shape, i); });
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  dequant::fuzz::fuzz({data, size});
  return 0;
}
