// Buffers filled from the fuzz input.
#include "fuzz/support/tensors.h"

#include "dequant/tensor.h"
#include "fuzz/support/check.h"

namespace dequant::fuzz {

Exact copy(const Exact& bytes) {
  Exact out(bytes.bytes().size());
  std::ranges::copy(bytes.bytes(), out.bytes().begin());
  return out;
}

bool untouched(const Exact& y) { return y == Exact(y.bytes().size()); }

Buffers Tensors::buffers(Exact& y) const {
  return {x.bytes(),         scale.bytes(),     zero_point.bytes(),   y.bytes(),
          min_range.bytes(), max_range.bytes(), tensor_scale.bytes(), group_index.bytes(),
          codebook.bytes()};
}

std::optional<Tensors> tensors_of(const Plan& plan, Cursor& cursor) {
  const Extents e = extents(plan);
  const int64_t most = cursor.below(8) == 7 ? kMostElements : kManyElements;
  if (element_count(plan) > most) return std::nullopt;
  for (const int64_t count :
       {e.x, e.scale, e.zero_point, e.min_range, e.max_range, e.y, e.group_index}) {
    require(count >= 0, "an extent is negative");
    if (count > most) return std::nullopt;
  }
  // Of a plan that no run accepts, as its codes have more than 8 bits.
  if (e.codebook > 256 || e.tensor_scale > most) return std::nullopt;
  const int64_t x_bytes = x_bytes_of(plan, {0, e.x}).end;
  const int64_t zero_bytes = zero_point_bytes_of(plan, {0, e.zero_point}).end;
  if (std::max(x_bytes, zero_bytes) > kMostBytes) return std::nullopt;
  const size_t offsets = cursor.byte();
  const auto bytes = [](Element element, int64_t count) {
    return static_cast<size_t>(packed_bytes(element, count).value());
  };
  const auto fill = [&](size_t size) {
    Exact out(size, offsets % 8);
    cursor.fill(out.bytes());
    return out;
  };
  const auto make = [&](Element element, int64_t count) { return fill(bytes(element, count)); };
  Tensors t;
  t.scale = make(plan.scale, e.scale);
  t.min_range = make(plan.scale, e.min_range);
  t.max_range = make(plan.scale, e.max_range);
  t.zero_point = fill(static_cast<size_t>(zero_bytes));
  t.tensor_scale = make(Element::float32, e.tensor_scale);
  t.group_index = make(Element::int32, e.group_index);
  t.codebook = make(Element::float32, e.codebook);
  // Random entries are hardly ever groups.
  if (const int64_t groups = plan.parameters.group_index.groups; groups > 0 && !cursor.rarely()) {
    for (size_t i = 0; i < t.group_index.bytes().size(); i += sizeof(int32_t)) {
      const auto group = static_cast<int32_t>(cursor.below(static_cast<size_t>(groups)));
      std::memcpy(t.group_index.bytes().data() + i, &group, sizeof group);
    }
  }
  // Of floats a zero point must be zero, which random ones never are.
  if (kind(plan.input) == Kind::floating && !cursor.rarely()) {
    std::ranges::fill(t.zero_point.bytes(), std::byte{0});
  }
  t.x = fill(static_cast<size_t>(x_bytes));
  t.y_bytes = bytes(plan.output, e.y);
  t.y_offset = offsets / 32;
  return t;
}

}  // namespace dequant::fuzz
