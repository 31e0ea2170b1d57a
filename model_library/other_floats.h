// Bands of stored floats as another float type.
#pragma once

#include "dequant/element.h"
#include "format/model/stream.h"

namespace dequant::model_library {

/// A sink that takes numbers of type `from` and passes them to `sink` as numbers of type `to`:
/// widened exactly to float32, or rounded once, ties to even. Both types are float32, float16 or
/// bfloat16. `sink` must outlive the result.
format::Sink other_floats(Element from, Element to, const format::Sink& sink);

}  // namespace dequant::model_library
