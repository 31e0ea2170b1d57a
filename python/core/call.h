// The steps that the functions of all dialects share: reading arguments, running a plan, raising
// errors.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <utility>

#include "dequant/plan.h"
#include "python/core/tensor.h"

namespace dequant::python {

/// Imports the exception classes of the package. Called once, before all other functions of this
/// file.
void find_errors();

/// Raises the exception for an error code, with the library's message: dequant.UnsupportedError
/// for `unsupported`, OSError for `io`, MemoryError for `out_of_memory`, otherwise ValueError.
[[noreturn]] void raise(const Error& error);

/// The value of a result; raises the exception of its error.
template <class T>
T checked(Result<T> result) {
  if (!result) raise(result.error());
  return *std::move(result);
}

/// Arguments as C++ values. Raise TypeError for an object of another type (a bool is no int), and
/// OverflowError for an int beyond 64 bits.
int64_t integer(const char* parameter, nanobind::handle object);
std::optional<int64_t> optional_integer(const char* parameter, nanobind::handle object);
bool boolean(const char* parameter, nanobind::handle object);
std::string text(const char* parameter, nanobind::handle object);

/// The `threads` argument as a number; 0, also for None, means one thread for each processor.
int threads_of(nanobind::handle threads);

/// A tensor argument that may be None.
class OptionalTensor {
 public:
  OptionalTensor(const char* name, nanobind::handle object, Element numbers);
  std::optional<TensorType> type() const;
  std::span<const std::byte> bytes() const;

 private:
  std::optional<Tensor> tensor_;
};

/// The arguments about the result that all functions have.
struct Wanted {
  nanobind::handle out;      ///< None or an array to write to
  nanobind::handle threads;  ///< None or a number
  nanobind::handle like;     ///< None or "torch"
};

/// Runs the plan with the GIL released, and returns `out` or a new array of that shape.
nanobind::object run_plan(const Plan& plan, Buffers buffers, Shape shape, const Wanted& wanted);

/// `own`, and the common end of all docstrings.
std::string documented(const char* own);

// The dialects, each as a submodule.
void add_linear(nanobind::module_& core);
void add_tensorflow(nanobind::module_& core);
void add_directml(nanobind::module_& core);
void add_schemes(nanobind::module_& core);

// Conversions of floats.
void add_floats(nanobind::module_& core);

/// The end of every signature for help(), whose types are those of the stubs. nanobind itself would
/// say object, as the functions check their arguments themselves.
#define DEQUANT_COMMON_SIGNATURE                              \
  "out: Writable | None = None, threads: int | None = None, " \
  "like: Literal['numpy', 'torch'] | None = None) -> np.ndarray | torch.Tensor"

}  // namespace dequant::python
