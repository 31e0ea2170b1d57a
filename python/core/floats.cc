// Floats of one type as floats of another: the plain types of formats whose other types are
// dequantized.
#include "format/model/floats.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "python/core/call.h"
#include "python/core/numpy.h"
#include "python/core/unlocked.h"

namespace dequant::python {
namespace nb = nanobind;
using namespace nb::literals;
namespace {

/// Every number rounded once; of the same type, every bit as it is.
void convert(Element from, std::span<const std::byte> x, Element to, std::span<std::byte> y) {
  if (from == to) {
    if (!y.empty()) std::memcpy(y.data(), x.data(), y.size());
    return;
  }
  std::array<float, 4096> wide;
  const size_t x_size = static_cast<size_t>(bits(from)) / 8;
  const size_t y_size = static_cast<size_t>(bits(to)) / 8;
  while (!y.empty()) {
    const auto numbers = std::span(wide).first(std::min(wide.size(), y.size() / y_size));
    format::widen(from, x, numbers);
    format::narrow(to, numbers, y);
    x = x.subspan(numbers.size() * x_size);
    y = y.subspan(numbers.size() * y_size);
  }
}

bool overlap(std::span<const std::byte> x, std::span<std::byte> y) {
  return !x.empty() && !y.empty() && x.data() < y.data() + y.size() &&
         y.data() < x.data() + x.size();
}

/// `data` are the bytes of numbers of `element`; `shape` is a tuple. `threads` is checked as
/// everywhere; one thread converts.
nb::object convert_floats(nb::handle element, nb::handle data, nb::tuple shape, nb::handle dtype,
                          nb::handle out, nb::handle threads, nb::handle like) {
  (void)threads_of(threads);
  const Element from = *output_of("element", element);
  const Element to = output_of("dtype", dtype).value_or(Element::float32);
  const Tensor x("data", data);
  Sizes sizes;
  sizes.assign(shape);
  const int64_t needed = checked(packed_bytes(from, checked(element_count(sizes.shape()))));
  if (x.bytes().size() != static_cast<size_t>(needed)) {
    raise({ErrorCode::invalid_argument, "data: " + std::to_string(x.bytes().size()) +
                                            " bytes, and the shape has " + std::to_string(needed)});
  }
  const Output y({to, sizes.shape()}, out, like);
  if (overlap(x.bytes(), y.bytes()))
    raise({ErrorCode::invalid_argument, "y: overlaps data; give it memory of its own"});
  {
    const Unlocked unlocked;
    convert(from, x.bytes(), to, y.bytes());
  }
  return y.result();
}

}  // namespace

void add_floats(nb::module_& core) {
  core.def("convert_floats", convert_floats, "element"_a, "data"_a, "shape"_a, "dtype"_a.none(),
           "out"_a.none(), "threads"_a.none(), "like"_a.none());
}

}  // namespace dequant::python
