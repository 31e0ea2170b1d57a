// A kernel for every entry of the table, by the scalar reference: slow, and simple enough to check
// by reading.
#include "kernel/reference_kernels.h"

#include <algorithm>
#include <cstring>

#include "element/codes.h"
#include "element/reference.h"
#include "kernel/transpose.h"

namespace dequant {
namespace {

template <Element kX, Element kY, ScaleLayout kScaleLayout>
void reference_kernel(const KernelArgs& a) {
  const auto* x = reinterpret_cast<const std::byte*>(a.x);
  const auto size = static_cast<size_t>(bits(kY)) / 8;
  for (size_t i = 0; i < a.count; ++i) {
    const size_t params = kScaleLayout == ScaleLayout::per_group ? i / a.group : i;
    const int64_t zero = kX == Element::uint32
                             ? static_cast<int64_t>(static_cast<uint32_t>(a.zero[params]))
                             : a.zero[params];
    const uint32_t code = load_code(bits(kX), x, static_cast<int64_t>(i));
    const uint32_t y = reference_dequantize(kX, code, zero, a.scale[params], kY);
    std::memcpy(a.y + i * size, &y, size);  // little-endian: the low bytes come first
  }
}

template <Element kX, Element kY>
void fill_output(Table& table) {
  table.at(kX, kY, ScaleLayout::per_group) = reference_kernel<kX, kY, ScaleLayout::per_group>;
  table.at(kX, kY, ScaleLayout::per_element) = reference_kernel<kX, kY, ScaleLayout::per_element>;
}

template <Element kX>
void fill_element(Table& table) {
  fill_output<kX, Element::float32>(table);
  fill_output<kX, Element::float16>(table);
  fill_output<kX, Element::bfloat16>(table);
}

template <Element kX, Element kY, ScaleLayout kScaleLayout>
void reference_range_kernel(const KernelArgs& a) {
  const auto* x = reinterpret_cast<const std::byte*>(a.x);
  const auto size = static_cast<size_t>(bits(kY)) / 8;
  for (size_t i = 0; i < a.count; ++i) {
    const size_t params = kScaleLayout == ScaleLayout::per_group ? i / a.group : i;
    const uint32_t code = load_code(bits(kX), x, static_cast<int64_t>(i));
    const uint32_t y =
        reference_scale_add(kX, code, a.zero[params], a.scale[params], a.offset[params], kY);
    std::memcpy(a.y + i * size, &y, size);
  }
}

template <Element kX>
void reference_formula_kernel(const KernelArgs& a) {
  const auto* x = reinterpret_cast<const std::byte*>(a.x);
  for (size_t i = 0; i < a.count; ++i) {
    const uint32_t code = load_code(bits(kX), x, static_cast<int64_t>(i));
    const uint32_t y = reference_formula(kX, code, *a.formula);
    std::memcpy(a.y + i * sizeof y, &y, sizeof y);
  }
}

template <Element kX, Element kY>
void fill_range_output(Table& table) {
  table.range_at(kX, kY, ScaleLayout::per_group) =
      reference_range_kernel<kX, kY, ScaleLayout::per_group>;
  table.range_at(kX, kY, ScaleLayout::per_element) =
      reference_range_kernel<kX, kY, ScaleLayout::per_element>;
}

template <Element kX>
void fill_ranges(Table& table) {
  fill_range_output<kX, Element::float32>(table);
  fill_range_output<kX, Element::float16>(table);
  fill_range_output<kX, Element::bfloat16>(table);
  table.formula_at(kX) = reference_formula_kernel<kX>;
}

bool all_finite_normal(const float* values, size_t count, bool zero_too) {
  return std::all_of(values, values + count,
                     [=](float v) { return is_finite_normal(v, zero_too); });
}

void repeat(const Helpers::Spread* params, size_t how_many, size_t group, size_t skip,
            size_t count) {
  for (size_t k = 0; k < how_many; ++k) {
    for (size_t i = 0; i < count; ++i) params[k].out[i] = params[k].values[(skip + i) / group];
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
void fill_widen_of(Helpers& helpers) {
  const bool small = kind(kX) != Kind::floating && bits(kX) <= 16;
  if (small) helpers.widen[static_cast<size_t>(kX)] = widen<kX>;
}

template <size_t... kIndex>
void fill_widen(Helpers& helpers, std::index_sequence<kIndex...>) {
  (fill_widen_of<static_cast<Element>(kIndex)>(helpers), ...);
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

void fill_reference_kernels(Table& table) {
  fill_all(table, std::make_index_sequence<kInputs>{});
  fill_all_ranges(table, std::make_index_sequence<kRangeElements.size()>{});
  for (const BlockType type : block_types()) {
    table.unpack_blocks[static_cast<size_t>(type)] = reference_unpack_blocks(type);
  }
  for (const Element y : kOutputElements) {
    table.block_products[output_index(y)] = table.at(Element::int8, y, ScaleLayout::per_group);
    table.block_sums[output_index(y)] = table.range_at(Element::int8, y, ScaleLayout::per_group);
  }
  Helpers& helpers = table.helpers;
  helpers.all_finite_normal = all_finite_normal;
  helpers.repeat = repeat;
  helpers.widen_float16 = widen_floats<Element::float16>;
  helpers.widen_bfloat16 = widen_floats<Element::bfloat16>;
  helpers.stream = stream;
  table.transpose = {transpose_scalar<uint8_t>, transpose_scalar<uint16_t>,
                     transpose_scalar<uint32_t>};
  fill_widen(helpers, std::make_index_sequence<kInputs>{});
  fill_reference_unpacking(helpers);
  fill_reference_results(table);
}

}  // namespace dequant
