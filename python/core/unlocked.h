// Releases the GIL while the library computes, whatever the floating-point state of the caller.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

#include "format/model/float_environment.h"

namespace dequant::python {

/// Releases the GIL until the destructor. A daemon thread may acquire the GIL after the interpreter
/// has shut down. Python before 3.14 then ends the thread by unwinding its stack, and an exception
/// that leaves a destructor ends the process. Such a thread waits for the end of the process here,
/// as it does in Python 3.14 and later.
class Unlocked {
 public:
  /// Keeps the GIL unless `worth_while`: releasing costs more than a short computation.
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
  format::FloatEnvironment environment_;
};

}  // namespace dequant::python
