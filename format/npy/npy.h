// .npy files: an array of numpy, read into and written from tensors.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "dequant/codes.h"
#include "dequant/status.h"
#include "dequant/tensor.h"
#include "format/io/output.h"
#include "format/io/tensor_data.h"
#include "format/npy/header.h"

namespace dequant::format {

/// The element that an array with this header holds when it is read `as` asked. Arrays hold their
/// own type; numpy has no name for the others, so `as` may say what codes are in
///   - unsigned integers (u1, u2, u4): floats of the same width;
///   - u1 and i1: elements under 8 bits, one per item (u1: codes; i1: values);
///   - widths alone (V1, f1, V2: what ml_dtypes saves): any element of the width; V1 also those
///   under
///     8 bits. These must be told.
/// Fails with invalid_argument on other pairs, with unsupported when it must be told and is not.
Result<Element> npy_element(const NpyHeader& header, std::optional<Element> as);

/// Reads the array, row-major and little-endian whatever the file has. Fails as read_npy_header and
/// npy_element do, and with malformed when an item does not fit the element. What is worth a
/// warning (bytes after the data) is added to `warning` as a sentence, if that is given.
Result<TensorData> read_npy(const std::string& path, std::optional<Element> as = {},
                            std::string* warning = nullptr);

/// The element as numpy spells it: its own type, or that of its codes: int4 and int2 as i1, other
/// elements up to 8 bits as u1, bfloat16 as u2.
std::string npy_descr(Element element);

/// The header that numpy would write; the row-major data follow it, little-endian, a byte each for
/// elements under 8 bits (unpack_codes). No dimension may be negative.
std::string npy_header(Element element, Shape shape);

/// Writes the tensor as an array. Fails with invalid_argument when bytes and shape contradict each
/// other, and as OutputFile does.
Status write_npy(const std::string& path, const TensorData& data, Overwrite overwrite);

}  // namespace dequant::format
