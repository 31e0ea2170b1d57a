// numpy's names and dtypes as the library's elements.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "dequant/tensor.h"

namespace dequant::python {

/// Finds what is used of numpy, once and before all else here.
void find_names();

/// The class dequant.Packed, which is made after the module.
void set_packed(nanobind::handle type);
bool is_packed(nanobind::handle object);

/// An array of numpy's own class. Subclasses may mean more than their memory, as masked arrays do.
bool is_plain_array(nanobind::handle object);

/// A scalar of numpy's, of any class.
bool is_scalar(nanobind::handle object);

/// numpy's own True and False.
bool is_numpy_bool(nanobind::handle object);

/// What a dtype of numpy's says of memory.
struct Items {
  Element element;
  bool one_per_byte;  ///< of less than 8 bits, as ml_dtypes keeps them
};

/// What the dtype of an array or a scalar says; none if its memory is not that of an element.
/// Dtypes are few objects that live long, so what _arrays says of one, and of its class, is kept.
std::optional<Items> items_of(nanobind::handle object);

/// A new array of float32 or float16.
nanobind::object new_array(TensorType type, nanobind::handle shape);

/// The element that a dtype argument means: one of our names, or a dtype of numpy, ml_dtypes or
/// torch.
Element element_of(const char* parameter, nanobind::handle dtype);

/// The same for the type of a result: float32, float16 or bfloat16; none where dtype is None.
std::optional<Element> output_of(const char* parameter, nanobind::handle dtype);

/// A function of dequant._arrays, which knows numpy, ml_dtypes and DLPack.
nanobind::object arrays(const char* function);

nanobind::tuple to_tuple(Shape shape);
nanobind::str to_str(std::string_view text);
nanobind::str to_str(Element element);

/// For _arrays: memory that DLPack offers, as an array of unsigned integers, and the name of the
/// element that each of them is; None where it is not of this processor or of another type.
nanobind::object from_dlpack(nanobind::handle object, bool writable);

}  // namespace dequant::python
