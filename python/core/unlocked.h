// The interpreter's lock, given away while the library works.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

namespace dequant::python {

/// Gives the lock away for as long as this lives. A daemon thread may want it back when the
/// interpreter has ended: Python before 3.14 then ends the thread by unwinding its stack, which no
/// destructor survives. Such a thread waits for the end of the process here, as it does in later
/// versions.
class Unlocked {
 public:
  /// Keeps it where that is not worth while.
  explicit Unlocked(bool worth_while = true)
      : state_(worth_while ? PyEval_SaveThread() : nullptr) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    if (state_ == nullptr) return;
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

 private:
  PyThreadState* state_;
};

}  // namespace dequant::python
