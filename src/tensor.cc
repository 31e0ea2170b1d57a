// Sizes of tensors, names of error codes, and the exception of an error.
#include "dequant/tensor.h"

#include <utility>

#include "checked.h"
#include "text.h"

namespace dequant {

const char* name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::limit: return "limit";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::io: return "io";
    case ErrorCode::out_of_memory: return "out_of_memory";
  }
  return "unknown";
}

void throw_exception(Error error) { throw Exception(std::move(error)); }

Result<int64_t> element_count(Shape shape) {
  if (const auto count = checked_count(shape)) return *count;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      return invalid("dimension ", i, " of shape ", to_string(shape), " is negative");
  }
  return invalid("shape ", to_string(shape), " has more than 2^63 - 1 elements");
}

Result<int64_t> packed_bytes(Element element, int64_t count) {
  const int width = bits(element);
  if (count < 0) return invalid("element count ", count, " is negative");
  if (width == 0) return invalid("element ", static_cast<int>(element), " is no element type");
  if (const auto bytes = checked_bytes(width, count)) return *bytes;
  return invalid(count, " elements of ", name(element), " take more than 2^63 - 1 bytes");
}

}  // namespace dequant
