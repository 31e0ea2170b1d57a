// The clock of the phases of a conversion.
#include "format/io/phases.h"

#include "format/io/clock.h"

namespace dequant::format {

int64_t steady_nanoseconds() {
  const auto now = Clock::now().time_since_epoch();
  return std::chrono::nanoseconds(now).count();
}

}  // namespace dequant::format
