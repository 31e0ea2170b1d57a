// The values of the lowest and the highest code of a type.
#include "format/profile/code_ends.h"

#include <algorithm>
#include <cmath>

#include "dequant/codes.h"

namespace dequant::format {

std::pair<uint32_t, uint32_t> codes_at_ends(Element element) {
  const uint32_t all = UINT32_MAX >> (32 - bits(element));
  if (kind(element) == Kind::signed_integer) return {all / 2 + 1, all / 2};
  if (kind(element) != Kind::floating) return {0, all};
  const auto less = [&](uint32_t a, uint32_t b) {
    return value_of(element, a) < value_of(element, b);
  };
  std::vector<uint32_t> finite;
  for (uint32_t code = 0; code <= all; ++code) {
    if (std::isfinite(value_of(element, code))) finite.push_back(code);
  }
  const auto [least, greatest] = std::minmax_element(finite.begin(), finite.end(), less);
  return {*least, *greatest};
}

CodeEnds::CodeEnds(Element x, Element scale, bool has_zero_point, Element output, int64_t most,
                   std::pair<uint32_t, uint32_t> codes) {
  plan_.input = x;
  plan_.scale = scale;
  plan_.output = output;
  plan_.has_zero_point = has_zero_point;
  plan_.granularity = Granularity::per_axis;
  plan_.inner = 2;
  codes_.resize(static_cast<size_t>((most * 2 * bits(x) + 7) / 8));
  for (int64_t i = 0; i < most; ++i) {
    store_code(x, codes_, 2 * i, codes.first);
    store_code(x, codes_, 2 * i + 1, codes.second);
  }
  values_.resize(static_cast<size_t>(most * 2 * bits(output) / 8));
}

Status CodeEnds::visit(std::span<const std::byte> scales, std::span<const std::byte> zero_points,
                       int64_t count, const std::function<void(const Ends&)>& visit) {
  plan_.axis = count;
  DEQUANT_CHECK(
      run(plan_, {codes_, scales, zero_points, values_}, {sequential_executor(), Stores::cached}));
  const auto size = static_cast<size_t>(bits(plan_.output) / 8);
  const auto value = [&](int64_t i) {
    return value_of(plan_.output, load_code(plan_.output, values_, i));
  };
  for (int64_t i = 0; i < count; ++i) {
    visit({value(2 * i), value(2 * i + 1),
           std::span(values_).subspan(static_cast<size_t>(2 * i) * size, 2 * size)});
  }
  return {};
}

}  // namespace dequant::format
