// Weights whose codes are floats of 4, 6 or 8 bits.
#include "dialect/float_codes.h"

#include "checked.h"
#include "text.h"

namespace dequant {

using enum Element;

Result<std::vector<int64_t>> shape_in_elements(const NamedTensor& weight, Element element,
                                               int most) {
  const Shape stored = weight.type.shape;
  if (stored.empty() || stored.size() > static_cast<size_t>(most)) {
    return invalid(weight.name, ": rank ", stored.size(), " is not 1 to ", most);
  }
  std::vector<int64_t> shape(stored.begin(), stored.end());
  if (weight.type.element == element) return shape;
  if (weight.type.element != uint8 && weight.type.element != int8) {
    return invalid(weight.name, ": element type ", name(weight.type.element), " is neither ",
                   name(element), " nor uint8 or int8 with its bytes");
  }
  const auto bits_of_row = checked_mul(stored.back(), 8);
  if (!bits_of_row || *bits_of_row % bits(element) != 0) {
    return invalid(weight.name, ": rows of ", stored.back(), " bytes hold no whole number of ",
                   name(element));
  }
  shape.back() = *bits_of_row / bits(element);
  return shape;
}

Result<Plan> float_blocks_plan(Plan plan, const char* weight, Shape shape, const NamedTensor& scale,
                               int64_t block) {
  if (scale.type.shape.size() != shape.size()) {
    return invalid(scale.name, ": shape ", to_string(scale.type.shape), " where ", weight, " is ",
                   to_string(shape));
  }
  std::vector<int64_t> lengths(shape.size(), 1);
  lengths.back() = block;
  const Element element = plan.input;
  return grid_plan(std::move(plan), {weight, {element, shape}}, scale, lengths);
}

}  // namespace dequant
