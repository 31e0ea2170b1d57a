// The clock of the phases of a conversion.
#include "format/io/phases.h"

#include <chrono>

namespace dequant::format {

int64_t steady_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(now).count();
}

}  // namespace dequant::format
