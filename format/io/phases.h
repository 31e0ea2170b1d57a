// Measuring the time of the phases of a conversion.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace dequant::format {

/// Nanoseconds of each phase, summed over threads.
struct Phases {
  std::atomic<int64_t> read{0};
  std::atomic<int64_t> dequantize{0};
  std::atomic<int64_t> write{0};
  std::atomic<int64_t> flush{0};  ///< waiting until written bytes are on the disk
};

/// Adds the time from its construction to its destruction to a phase. Does nothing if `phases` is
/// null.
class Stopwatch {
 public:
  Stopwatch(Phases* phases, std::atomic<int64_t> Phases::*phase)
      : phase_(phases == nullptr ? nullptr : &(phases->*phase)), start_(Clock::now()) {}
  ~Stopwatch() {
    if (phase_ == nullptr) return;
    const auto span = std::chrono::nanoseconds(Clock::now() - start_).count();
    phase_->fetch_add(span, std::memory_order_relaxed);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  std::atomic<int64_t>* phase_;
  Clock::time_point start_;
};

}  // namespace dequant::format
