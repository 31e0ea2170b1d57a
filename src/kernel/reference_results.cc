// What surrounds products, by the scalar reference: values of codebooks, float zero points, and
// what follows the product.
#include <bit>
#include <cstring>

#include "element/reference.h"
#include "kernel/reference_kernels.h"

namespace dequant {
namespace {

template <Element kRounding, Element kOutput>
void after_product(const AfterArgs& a) {
  const auto size = static_cast<size_t>(bits(kOutput)) / 8;
  const AfterProduct after{a.factor, kRounding, a.zero != nullptr && a.subtracts};
  for (size_t i = 0; i < a.count; ++i) {
    const float zero = a.zero != nullptr ? std::bit_cast<float>(a.zero[i / a.group]) : -0.0F;
    const uint32_t y = reference_after_product(a.products[i], after, zero, kOutput);
    std::memcpy(a.y + i * size, &y, size);  // little-endian
  }
}

template <Element kType>
void subtract_floats(const FloatZeroArgs& a) {
  for (size_t i = 0; i < a.count; ++i) {
    const size_t param = i / a.group;
    a.values[i] = std::bit_cast<float>(reference_float_zero_point(
        a.values[i], kType, std::bit_cast<float>(a.zero[param]), a.scale[param], Element::float32));
  }
}

template <Element kType>
void round_to(float* values, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] = reference_round(kType, values[i]);
}

template <Element kOutput, ScaleLayout kScaleLayout>
void codebook_kernel(const KernelArgs& a) {
  const auto size = static_cast<size_t>(bits(kOutput)) / 8;
  for (size_t i = 0; i < a.count; ++i) {
    const size_t params = kScaleLayout == ScaleLayout::per_group ? i / a.group : i;
    const uint32_t y = reference_scaled_value(a.lut[a.x[i]], a.scale[params], kOutput);
    std::memcpy(a.y + i * size, &y, size);
  }
}

template <size_t kBytes, bool kPairs>
void look_up(const LookUpArgs& a) {
  for (size_t i = 0; i < a.count; ++i) {
    const unsigned code = kPairs ? a.codes[i / 2] >> i % 2 * 4 & 15 : a.codes[i];
    std::memcpy(a.y + kBytes * i, a.tables + kBytes * (i / a.group * 16 + code), kBytes);
  }
}

template <Element kOutput>
void fill_output(Table& table) {
  constexpr size_t kTo = output_index(kOutput);
  auto& after = table.helpers.after_product;
  after[output_index(Element::float32)][kTo] = after_product<Element::float32, kOutput>;
  after[output_index(Element::float16)][kTo] = after_product<Element::float16, kOutput>;
  after[output_index(Element::bfloat16)][kTo] = after_product<Element::bfloat16, kOutput>;
  for (const bool small : {true, false}) {
    table.codebook_at(small, kOutput, ScaleLayout::per_group) =
        codebook_kernel<kOutput, ScaleLayout::per_group>;
    table.codebook_at(small, kOutput, ScaleLayout::per_element) =
        codebook_kernel<kOutput, ScaleLayout::per_element>;
  }
}

}  // namespace

void fill_reference_results(Table& table) {
  fill_output<Element::float32>(table);
  fill_output<Element::float16>(table);
  fill_output<Element::bfloat16>(table);
  auto& floats = table.helpers.subtract_floats;
  floats[output_index(Element::float32)] = subtract_floats<Element::float32>;
  floats[output_index(Element::float16)] = subtract_floats<Element::float16>;
  floats[output_index(Element::bfloat16)] = subtract_floats<Element::bfloat16>;
  table.helpers.look_up_words = {look_up<2, true>, look_up<2, false>};
  table.helpers.look_up_floats = {look_up<4, true>, look_up<4, false>};
  table.helpers.round_to_float16 = round_to<Element::float16>;
  table.helpers.round_to_bfloat16 = round_to<Element::bfloat16>;
}

}  // namespace dequant
