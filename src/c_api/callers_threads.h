// The caller's threads as an Executor, and the errors of a parallel_for in C.
#pragma once

#include <cstddef>

#include "dequant.h"
#include "dequant/executor.h"
#include "dequant/status.h"

namespace dequant::c_api {

class CallersThreads {
 public:
  CallersThreads(dequant_parallel_for parallel_for, void* self) noexcept
      : parallel_for_(parallel_for), self_(self) {}

  /// The executor, valid as long as this object, for one run().
  Executor executor() noexcept;

  /// Success if all tasks have run, or if parallel_for was not called; else the error.
  Status outcome() const;

 private:
  enum class End { good, returned, threw };

  void run(std::size_t count, Executor::Task task, void* context) noexcept;

  dequant_parallel_for parallel_for_;
  void* self_;
  End end_ = End::good;
  int returned_ = 0;
  std::size_t count_ = 0;
  std::size_t finished_ = 0;
};

}  // namespace dequant::c_api
