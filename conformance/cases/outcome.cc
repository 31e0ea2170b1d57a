// The verdict on two tensors.
#include "conformance/cases/outcome.h"

#include "format/io/errors.h"

namespace dequant::conformance {
using format::TensorData;

Outcome judge(std::string_view what, const TensorData& actual, const TensorData& expected,
              const Tolerance& tolerance) {
  if (actual.element != expected.element || actual.shape != expected.shape) {
    return {
        {},
        Verdict::failed,
        fmt::format("{} is {} where {} is expected", what, describe(actual.element, actual.shape),
                    describe(expected.element, expected.shape)),
        {}};
  }
  auto difference = compare(actual, expected, tolerance);
  if (!difference) return {};
  return {{},
          Verdict::failed,
          fmt::format("{} {}", what, describe(*difference)),
          std::move(difference)};
}

}  // namespace dequant::conformance
