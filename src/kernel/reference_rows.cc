// The table's bottom layer: every row by the scalar reference, slow and obviously right.
#include "kernel/reference_rows.h"

#include <algorithm>
#include <cstring>

#include "element/codes.h"
#include "element/reference.h"
#include "kernel/transpose.h"

namespace dequant {
namespace {

template <Element kX, Element kY, Leaf kLeaf>
void reference_row(const RowArgs& a) {
  const auto* x = reinterpret_cast<const std::byte*>(a.x);
  const auto size = static_cast<size_t>(bits(kY)) / 8;
  for (size_t i = 0; i < a.count; ++i) {
    const size_t side = kLeaf == Leaf::runs ? i / a.run : i;
    const int64_t zero = kX == Element::uint32
                             ? static_cast<int64_t>(static_cast<uint32_t>(a.zero[side]))
                             : a.zero[side];
    const uint32_t code = load_code(bits(kX), x, static_cast<int64_t>(i));
    const uint32_t y = reference_dequantize(kX, code, zero, a.scale[side], kY);
    std::memcpy(a.y + i * size, &y, size);  // little-endian: the low bytes come first
  }
}

template <Element kX>
void fill_element(Table& table) {
  using enum Element;
  table.at(kX, float32, Leaf::runs) = reference_row<kX, float32, Leaf::runs>;
  table.at(kX, float32, Leaf::varying) = reference_row<kX, float32, Leaf::varying>;
  table.at(kX, float16, Leaf::runs) = reference_row<kX, float16, Leaf::runs>;
  table.at(kX, float16, Leaf::varying) = reference_row<kX, float16, Leaf::varying>;
  table.at(kX, bfloat16, Leaf::runs) = reference_row<kX, bfloat16, Leaf::runs>;
  table.at(kX, bfloat16, Leaf::varying) = reference_row<kX, bfloat16, Leaf::varying>;
}

template <Element kX, Element kY, Leaf kLeaf>
void reference_range_row(const RowArgs& a) {
  const auto* x = reinterpret_cast<const std::byte*>(a.x);
  const auto size = static_cast<size_t>(bits(kY)) / 8;
  for (size_t i = 0; i < a.count; ++i) {
    const size_t side = kLeaf == Leaf::runs ? i / a.run : i;
    const uint32_t code = load_code(bits(kX), x, static_cast<int64_t>(i));
    const uint32_t y =
        reference_scale_add(kX, code, a.zero[side], a.scale[side], a.offset[side], kY);
    std::memcpy(a.y + i * size, &y, size);
  }
}

template <Element kX>
void reference_line_row(const RowArgs& a) {
  const auto* x = reinterpret_cast<const std::byte*>(a.x);
  for (size_t i = 0; i < a.count; ++i) {
    const uint32_t code = load_code(bits(kX), x, static_cast<int64_t>(i));
    const uint32_t y = reference_line(kX, code, *a.line);
    std::memcpy(a.y + i * sizeof y, &y, sizeof y);
  }
}

template <Element kX>
void fill_ranges(Table& table) {
  using enum Element;
  table.range_at(kX, float32, Leaf::runs) = reference_range_row<kX, float32, Leaf::runs>;
  table.range_at(kX, float32, Leaf::varying) = reference_range_row<kX, float32, Leaf::varying>;
  table.range_at(kX, float16, Leaf::runs) = reference_range_row<kX, float16, Leaf::runs>;
  table.range_at(kX, float16, Leaf::varying) = reference_range_row<kX, float16, Leaf::varying>;
  table.range_at(kX, bfloat16, Leaf::runs) = reference_range_row<kX, bfloat16, Leaf::runs>;
  table.range_at(kX, bfloat16, Leaf::varying) = reference_range_row<kX, bfloat16, Leaf::varying>;
  table.line_at(kX) = reference_line_row<kX>;
}

bool all_plain(const float* values, size_t count, bool zero_too) {
  return std::all_of(values, values + count, [=](float v) { return is_plain(v, zero_too); });
}

void repeat(const Moves::Spread* sides, size_t how_many, size_t run, size_t into, size_t count) {
  for (size_t k = 0; k < how_many; ++k) {
    for (size_t i = 0; i < count; ++i) sides[k].out[i] = sides[k].values[(into + i) / run];
  }
}

template <Element kX>
void widen(const uint8_t* from, size_t count, int32_t* to) {
  const auto* data = reinterpret_cast<const std::byte*>(from);
  const int unused = kind(kX) == Kind::signed_integer ? 32 - bits(kX) : 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t code = load_code(bits(kX), data, static_cast<int64_t>(i));
    to[i] = static_cast<int32_t>(code << unused) >> unused;
  }
}

template <Element kElement>
void widen_floats(const uint8_t* from, size_t count, float* to) {
  const auto* data = reinterpret_cast<const std::byte*>(from);
  for (size_t i = 0; i < count; ++i) {
    to[i] = float_value(kElement, load_code(16, data, static_cast<int64_t>(i)));
  }
}

void stream(const uint8_t* from, uint8_t* to, size_t bytes) { std::memcpy(to, from, bytes); }

template <Element kX>
void fill_widen_of(Moves& moves) {
  const bool small = kind(kX) != Kind::floating && bits(kX) <= 16;
  if (small) moves.widen[static_cast<size_t>(kX)] = widen<kX>;
}

template <size_t... kIndex>
void fill_widen(Moves& moves, std::index_sequence<kIndex...>) {
  (fill_widen_of<static_cast<Element>(kIndex)>(moves), ...);
}

template <size_t... kIndex>
void fill_all(Table& table, std::index_sequence<kIndex...>) {
  (fill_element<static_cast<Element>(kIndex)>(table), ...);
}

template <size_t... kIndex>
void fill_all_ranges(Table& table, std::index_sequence<kIndex...>) {
  (fill_ranges<kRangeElements[kIndex]>(table), ...);
}

}  // namespace

void fill_reference_rows(Table& table) {
  fill_all(table, std::make_index_sequence<kInputs>{});
  fill_all_ranges(table, std::make_index_sequence<kRangeElements.size()>{});
  Moves& moves = table.moves;
  moves.all_plain = all_plain;
  moves.repeat = repeat;
  moves.widen_float16 = widen_floats<Element::float16>;
  moves.widen_bfloat16 = widen_floats<Element::bfloat16>;
  moves.stream = stream;
  table.transpose = {transpose_plainly<uint8_t>, transpose_plainly<uint16_t>,
                     transpose_plainly<uint32_t>};
  fill_widen(moves, std::make_index_sequence<kInputs>{});
}

}  // namespace dequant
