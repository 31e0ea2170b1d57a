// numpy's classes, and its dtypes as element types of the library.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "dequant/tensor.h"

namespace dequant::python {

/// Imports the objects of numpy that this file uses. Called once, before all other functions of
/// this file.
void find_names();

/// Registers the class dequant.Packed, which Python defines after this module is imported.
void set_packed(nanobind::handle type);
bool is_packed(nanobind::handle object);

/// Whether an object is a numpy array and of no subclass. The values of a subclass may differ from
/// its memory, for example those of masked arrays.
bool is_plain_array(nanobind::handle object);

/// Whether an object is a numpy scalar of any class.
bool is_scalar(nanobind::handle object);

/// Whether an object is a numpy.bool_.
bool is_numpy_bool(nanobind::handle object);

/// The items of an array with a dtype.
struct Items {
  Element element;
  bool one_per_byte;  ///< elements of less than 8 bits, one in each byte: dtypes of ml_dtypes
};

/// The items of an array or a scalar; nothing if its dtype is no element type. Programs have few
/// dtype objects, so the answers of dequant._arrays are cached by dtype and by dtype class.
std::optional<Items> items_of(nanobind::handle object);

/// A new array of float32 or float16.
nanobind::object new_array(TensorType type, nanobind::handle shape);

/// The element type of a dtype argument: a name of dequant.dtypes, or a dtype of numpy, ml_dtypes
/// or torch. Raises TypeError for every other object.
Element element_of(const char* parameter, nanobind::handle dtype);

/// The element type of a result: float32, float16 or bfloat16; nothing if dtype is None. Raises
/// TypeError for every other object.
std::optional<Element> output_of(const char* parameter, nanobind::handle dtype);

/// A function of dequant._arrays, which reads tensors of numpy, ml_dtypes and DLPack.
nanobind::object arrays(const char* function);

nanobind::tuple to_tuple(Shape shape);
nanobind::str to_str(std::string_view text);
nanobind::str to_str(Element element);

/// For dequant._arrays: the memory that an object exports by DLPack, as an array of unsigned
/// integers, and the name of the element type. None if the memory is not the CPU's, or if the type
/// is no element type.
nanobind::object from_dlpack(nanobind::handle object, bool writable);

}  // namespace dequant::python
