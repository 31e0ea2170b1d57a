// Words and numbers of a plan for reports.
#include "format/model/plan_words.h"

namespace dequant::format {

std::string_view granularity_key(const Plan& plan) {
  switch (plan.granularity) {
    case Granularity::per_tensor: return "per_tensor";
    case Granularity::per_axis: return "per_axis";
    case Granularity::blocked: return "blocked";
    case Granularity::strided: return "strided";
  }
  return {};
}

}  // namespace dequant::format
