// How GoogleTest prints the library's types.
#pragma once

#include <ostream>

#include "dequant/element.h"
#include "dequant/plan.h"
#include "dequant/status.h"

namespace dequant {

inline void PrintTo(Element element, std::ostream* out) { *out << name(element); }

inline void PrintTo(ErrorCode code, std::ostream* out) { *out << name(code); }

inline void PrintTo(const Plan& plan, std::ostream* out) { *out << to_string(plan); }

inline void PrintTo(const Range& range, std::ostream* out) {
  *out << "[" << range.begin << ", " << range.end << ")";
}

}  // namespace dequant
