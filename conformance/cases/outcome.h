// What came of checking one case.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "conformance/cases/compare.h"

namespace dequant::conformance {

enum class Verdict { passed, failed, skipped };

/// The verdict on one case, and why: what is wrong, why it was skipped, how it was rightly refused.
struct Outcome {
  std::string name;
  Verdict verdict = Verdict::passed;
  std::string reason;
  std::optional<Difference> difference;
};

/// Passed when the result, of that name, is the tensor expected, as far as the tolerance asks.
Outcome judge(std::string_view what, const format::TensorData& actual,
              const format::TensorData& expected, const Tolerance& tolerance);

}  // namespace dequant::conformance
