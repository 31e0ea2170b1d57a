// Conformance case files and result files: any text, parsed; every case in it is run, every result
// judged.
#include "conformance/cases/cases.h"

#include <algorithm>
#include <limits>

#include "conformance/cases/results.h"
#include "conformance/cases/run_case.h"
#include "fuzz/support/check.h"

namespace dequant::fuzz {
namespace {

/// Strides of zero make much of little; what only takes long is left out.
bool is_small(const conformance::Case& c) {
  constexpr int64_t kMost = int64_t{1} << 14;
  const auto x = c.inputs.find("x");
  if (x == c.inputs.end()) return true;
  int64_t count = 1;
  for (const int64_t d : x->second.shape) {
    if (d < 1) return true;
    if (d > kMost / count) return !x->second.strides;
    count *= d;
  }
  return true;
}

void fuzz(std::string_view text) {
  const auto file = conformance::parse_cases(text);
  if (!accepted(file)) return;
  for (const conformance::Case& c : file->cases) {
    if (!is_small(c)) continue;
    const auto outcome = conformance::run_case(c);
    if (!accepted(outcome)) continue;
    const auto again = conformance::run_case(c);
    require(again && again->verdict == outcome->verdict && again->reason == outcome->reason,
            "one case, two outcomes");
    const bool judged = outcome->verdict != conformance::Verdict::failed || outcome->difference ||
                        !outcome->reason.empty();
    require(judged, "a case fails and nobody says why");
  }
}

/// A result passes where it is what the case expects, unless its tensor is inconsistent.
void fuzz_results(std::string_view text) {
  const auto file = conformance::parse_results(text);
  if (!accepted(file)) return;
  for (const conformance::CaseResult& result : file->results) {
    conformance::Case c;
    c.name = result.name;
    const auto* y = std::get_if<conformance::CaseTensor>(&result.what);
    if (y != nullptr) c.expect = *y;
    const auto outcome = conformance::judge_result(c, &result);
    if (accepted(outcome)) {
      require(outcome->verdict != conformance::Verdict::failed, "a result differs from itself");
    }
  }
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  dequant::fuzz::fuzz(text);
  dequant::fuzz::fuzz_results(text);
  return 0;
}
