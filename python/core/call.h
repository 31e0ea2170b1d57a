// The steps that the functions of all dialects share: reading arguments and running a plan.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "dequant/plan.h"
#include "python/core/raise.h"
#include "python/core/tensor.h"

namespace dequant::python {

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
  /// The tensor, or null.
  const Tensor* get() const { return tensor_ ? &*tensor_ : nullptr; }

 private:
  std::optional<Tensor> tensor_;
};

/// The arguments about the result that all functions have.
struct Wanted {
  nanobind::handle out;      ///< None or an array to write to
  nanobind::handle threads;  ///< None or a number
  nanobind::handle like;     ///< None or "torch"
};

/// The tensor arguments of a call; null for those that are absent.
using Inputs = std::span<const Tensor* const>;

/// Runs the plan with the GIL released, and returns `out` or a new array of that shape. `buffers`
/// are memory of `inputs`, which are on one device, or constants.
nanobind::object run_plan(const Plan& plan, Buffers buffers, Shape shape, const Wanted& wanted,
                          Inputs inputs);
inline nanobind::object run_plan(const Plan& plan, Buffers buffers, Shape shape,
                                 const Wanted& wanted,
                                 std::initializer_list<const Tensor*> inputs) {
  return run_plan(plan, buffers, shape, wanted, Inputs(inputs.begin(), inputs.size()));
}

/// The same for inputs of which at least one is on a device; dequant._cuda runs the plan.
nanobind::object run_on_device(const Plan& plan, const Buffers& buffers, Shape shape,
                               const Wanted& wanted, Inputs inputs);

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
