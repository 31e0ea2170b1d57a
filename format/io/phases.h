// Measuring the time of the phases of a conversion.
#pragma once

#include <atomic>
#include <cstdint>

namespace dequant::format {

/// Nanoseconds of each phase, summed over threads.
struct Phases {
  std::atomic<int64_t> read{0};
  std::atomic<int64_t> dequantize{0};
  std::atomic<int64_t> write{0};
  std::atomic<int64_t> flush{0};  ///< waiting until written bytes are on the disk
};

/// The time of a clock that never goes back, in nanoseconds. Not in this header, because <chrono>
/// would take a tenth of the time in which each file that includes it compiles.
int64_t steady_nanoseconds();

/// Adds the time from its construction to its destruction to a phase. Does nothing if `phases` is
/// null.
class Stopwatch {
 public:
  Stopwatch(Phases* phases, std::atomic<int64_t> Phases::*phase)
      : phase_(phases == nullptr ? nullptr : &(phases->*phase)), start_(steady_nanoseconds()) {}
  ~Stopwatch() {
    if (phase_ == nullptr) return;
    phase_->fetch_add(steady_nanoseconds() - start_, std::memory_order_relaxed);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  std::atomic<int64_t>* phase_;
  int64_t start_;
};

}  // namespace dequant::format
