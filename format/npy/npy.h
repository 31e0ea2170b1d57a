// Reading and writing .npy files, which hold an array of numpy.
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

/// The element type of an array. Without `as` it is that of the header. numpy has no name for many
/// types, so `as` may name the type whose codes the array holds:
///   - in unsigned integers (u1, u2, u4): a float of the same width;
///   - in u1 and i1: an element under 8 bits, one per item (u1: codes; i1: values);
///   - in items of which the header only has the width (V1, f1, V2: as ml_dtypes saves): an element
///   of
///     that width; in V1 also an element under 8 bits. Here `as` is required.
/// Fails with invalid_argument for other pairs, and with unsupported where `as` is missing.
Result<Element> npy_element(const NpyHeader& header, std::optional<Element> as);

/// Reads an array as a row-major, little-endian tensor. Fails as read_npy_header() and
/// npy_element() do, and with malformed when an item is no code of the element. Appends a warning
/// about bytes after the data to `warning`, unless that is null.
Result<TensorData> read_npy(const std::string& path, std::optional<Element> as = {},
                            std::string* warning = nullptr);

/// The numpy type of an element in .npy files: its own type, or that of its codes. int4 and int2
/// have i1, other elements up to 8 bits u1, bfloat16 has u2.
std::string npy_descr(Element element);

/// The header that numpy would write. The data must follow: row-major, little-endian, one byte for
/// each element under 8 bits (unpack_codes()). No dimension may be negative.
std::string npy_header(Element element, Shape shape);

/// Writes a tensor as an array. Fails with invalid_argument when data.bytes is not as long as the
/// shape says, and as OutputFile does.
Status write_npy(const std::string& path, const TensorData& data, Overwrite overwrite);

}  // namespace dequant::format
