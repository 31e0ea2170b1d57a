// The outcome of checking one case.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "conformance/cases/compare.h"

namespace dequant::conformance {

/// The result of a check.
enum class Verdict { passed, failed, skipped };

/// The verdict on one case and its reason: what is wrong, why the case was skipped, or the message
/// of an expected refusal.
struct Outcome {
  std::string name;
  Verdict verdict = Verdict::passed;
  std::string reason;
  std::optional<Difference> difference;
};

/// Compares a result, which `what` names, with the expected tensor: passed if they are equal within
/// the tolerance.
Outcome judge(std::string_view what, const format::TensorData& actual,
              const format::TensorData& expected, const Tolerance& tolerance);

}  // namespace dequant::conformance
