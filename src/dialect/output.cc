// The type of results.
#include "dialect/output.h"

#include "element/traits.h"
#include "text.h"

namespace dequant {

Status check_output(Element output) {
  if (is_output(output)) return {};
  return invalid("output: element type ", name(output),
                 " is not one of float32, float16, bfloat16");
}

}  // namespace dequant
