// Tensors of other libraries, read through DLPack.
#include <nanobind/ndarray.h>

#include <type_traits>
#include <vector>

#include "python/core/dlpack.h"
#include "python/core/numpy.h"

namespace dequant::python {
namespace nb = nanobind;
namespace {

/// The memory as a numpy array of unsigned integers, one for each element, and the name of the
/// element type.
template <class Array>
nb::object codes_of(nb::handle object) {
  Array array;
  if (!nb::try_cast(object, array, false)) return nb::none();
  const auto element = element_of_dlpack(array.dtype());
  if (!element) return nb::none();
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < array.ndim(); ++i) {
    shape.push_back(array.shape(i));
    strides.push_back(array.stride(i));
  }
  const nb::capsule owner(new Array(array),
                          [](void* p) noexcept { delete static_cast<Array*>(p); });
  nb::dlpack::dtype codes = nb::dtype<uint8_t>();
  codes.bits = array.dtype().bits;
  using View =
      std::conditional_t<Array::ReadOnly, nb::ndarray<nb::numpy, nb::ro>, nb::ndarray<nb::numpy>>;
  const View view(array.data(), shape.size(), shape.data(), owner, strides.data(), codes);
  return nb::make_tuple(view, to_str(*element));
}

}  // namespace

nb::object from_dlpack(nb::handle object, bool writable) {
  if (writable) return codes_of<nb::ndarray<nb::device::cpu>>(object);
  return codes_of<nb::ndarray<nb::ro, nb::device::cpu>>(object);
}

}  // namespace dequant::python
