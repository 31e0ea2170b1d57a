// The type of results, which all dialects check alike.
#pragma once

#include "dequant/element.h"
#include "dequant/status.h"

namespace dequant {

/// Fails with invalid_argument for an element that is no type of results.
Status check_output(Element output);

}  // namespace dequant
