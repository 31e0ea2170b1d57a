// These functions are not templates: an instantiation for each combination of types in a sentence
// would make the library large.
#include "text.h"

namespace dequant {

void Part::append_to(std::string& out) const {
  if (!is_number_) {
    out += text_;
    return;
  }
  if (is_negative_) out += '-';
  out += std::to_string(is_negative_ ? 0 - number_ : number_);
}

std::string joined(std::initializer_list<Part> parts) {
  std::string out;
  for (const Part& part : parts) part.append_to(out);
  return out;
}

Error invalid_of(std::initializer_list<Part> parts) {
  return Error{ErrorCode::invalid_argument, joined(parts)};
}

std::string to_string(Shape shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += concat(i == 0 ? "" : ", ", shape[i]);
  return out + "]";
}

}  // namespace dequant
