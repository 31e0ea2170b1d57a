// The state of the floating-point unit in which formats compute, whatever that of the caller is.
#pragma once

#include <cfenv>

namespace dequant::format {

/// Rounds to nearest and keeps subnormal numbers until the destructor, which gives back the state
/// of the thread as it was. Threads that are started meanwhile begin with the same state. For entry
/// points of the libraries of model files. The core has a class of its own, which is hidden, and
/// costs less than a call of the C library before each chunk.
class FloatEnvironment {
 public:
  FloatEnvironment() noexcept {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);  // clears the bits that flush subnormal numbers as well
  }
  ~FloatEnvironment() { std::fesetenv(&saved_); }
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

 private:
  std::fenv_t saved_{};
};

}  // namespace dequant::format
