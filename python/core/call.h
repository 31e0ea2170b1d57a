// What every dialect's function does around its own node: numbers in, the run, errors out.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>

#include "dequant/plan.h"
#include "python/core/tensor.h"

namespace dequant::python {

/// Finds the exceptions of the package, once and before all else here.
void find_errors();

/// Raises the exception of a failure, with the library's sentence: ValueError;
/// dequant.UnsupportedError, which is one too, for what is legal but not supported; OSError;
/// MemoryError.
[[noreturn]] void raise(const Error& error);

/// The value of a result, or its exception.
template <class T>
T checked(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

/// Arguments as numbers. Raises TypeError for what is no int or a bool, OverflowError beyond 64
/// bits.
int64_t integer(const char* parameter, nanobind::handle object);
std::optional<int64_t> optional_integer(const char* parameter, nanobind::handle object);
bool boolean(const char* parameter, nanobind::handle object);
std::string text(const char* parameter, nanobind::handle object);

/// The number of threads that an argument means: None and 0 are all processors.
int threads_of(nanobind::handle threads);

/// A tensor that may be left out.
class OptionalTensor {
 public:
  OptionalTensor(const char* name, nanobind::handle object, Element numbers);
  std::optional<TensorType> type() const;
  std::span<const std::byte> bytes() const;

 private:
  std::optional<Tensor> tensor_;
};

/// How results are wanted.
struct Wanted {
  nanobind::handle out;      ///< None or what to write to
  nanobind::handle threads;  ///< None or a number
  nanobind::handle like;     ///< None or "torch"
};

/// Runs the plan without the interpreter's lock, and returns `out` or a new array of that shape.
nanobind::object run_plan(const Plan& plan, Buffers buffers, Shape shape, const Wanted& wanted);

/// A docstring with what all of them end with.
std::string documented(const char* own);

// The dialects, each in a module of its own.
void add_linear(nanobind::module_& core);
void add_tensorflow(nanobind::module_& core);
void add_directml(nanobind::module_& core);

}  // namespace dequant::python
