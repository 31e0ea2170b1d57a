// Checks of types and shapes.
#include "dialect/checks.h"

#include <algorithm>

#include "text.h"

namespace dequant {

Status check_output(Element output) { return check_float_type("output", output); }

Status check_float_type(const char* what, Element element) {
  if (is_output(element)) return {};
  return invalid(what, ": element type ", name(element),
                 " is not one of float32, float16, bfloat16");
}

Status check_rank(const char* what, Shape shape, size_t most) {
  if (shape.size() <= most) return {};
  return invalid(what, ": rank ", shape.size(), " is greater than ", most);
}

Status check_tensor(const char* what, const TensorType& type, Element element, Shape shape) {
  if (type.element == element && std::ranges::equal(type.shape, shape)) return {};
  return invalid(what, ": ", name(type.element), to_string(type.shape), " where ", name(element),
                 to_string(shape), " is needed");
}

}  // namespace dequant
