// Checks of tensors that several dialects make alike. All fail with invalid_argument, by a sentence
// that begins with `what`, the name of the tensor.
#pragma once

#include "dequant/element.h"
#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant {

/// Demands a type of results.
Status check_output(Element output);

/// Demands float32, float16 or bfloat16.
Status check_float_type(const char* what, Element element);

/// Demands at most `most` dimensions.
Status check_rank(const char* what, Shape shape, size_t most);

/// Demands that element and that shape.
Status check_tensor(const char* what, const TensorType& type, Element element, Shape shape);

}  // namespace dequant
