// Errors of a caller's parallel_for: tasks left out, a return value other than 0, an exception.
// run() itself handles tasks that are called twice, and numbers of no task.
#include "c_api/callers_threads.h"

#include "execute/tasks.h"
#include "text.h"

namespace dequant::c_api {

Executor CallersThreads::executor() noexcept {
  return {[](void* self, std::size_t count, Executor::Task task, void* context) {
            static_cast<CallersThreads*>(self)->run(count, task, context);
          },
          this};
}

void CallersThreads::run(std::size_t count, Executor::Task task, void* context) noexcept {
  count_ = count;
  try {
    returned_ = parallel_for_(self_, count, task, context);
    if (returned_ != 0) end_ = End::returned;
  } catch (...) {
    end_ = End::threw;
  }
  finished_ = static_cast<const Tasks*>(context)->finished();
}

Status CallersThreads::outcome() const {
  switch (end_) {
    case End::threw:
      return invalid("parallel_for: threw an exception after ", finished_, " of ", count_,
                     " tasks; y is incomplete");
    case End::returned:
      return invalid("parallel_for: returned ", returned_, " after ", finished_, " of ", count_,
                     " tasks; y is incomplete");
    case End::good: break;
  }
  if (finished_ == count_) return {};
  return invalid("parallel_for: returned 0 after ", finished_, " of ", count_,
                 " tasks; y is incomplete");
}

}  // namespace dequant::c_api
