// The targets of this processor, beside what Highway's own library says. A program of its own, as
// all others do without that library.
#include <cinttypes>
#include <cstdio>

#include "hwy/targets.h"
#include "kernel/processor.h"

int main() {
  // Of AVX3_DL Highway asks for less than the kernels need: src/kernel/processor.cc.
  const int64_t alike = HWY_SSE4 | HWY_AVX2 | HWY_AVX3 | HWY_NEON;
  const int64_t highway = hwy::SupportedTargets();
  const int64_t ours = dequant::processor_targets();
  std::printf("Highway: %" PRIx64 ", dequant: %" PRIx64 "\n", highway, ours);
  return (highway & alike) == (ours & alike) && (ours & HWY_AVX3_DL & ~highway) == 0 ? 0 : 1;
}
