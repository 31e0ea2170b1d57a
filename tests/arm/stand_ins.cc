// What the tests need of libraries that a cross compiler's machine does not have: Highway's
// question to the processor, answered with NEON, and the pool of threads, replaced by the calling
// thread.
#include "dequant/executor.h"
#include "hwy/targets.h"

namespace hwy {

int64_t SupportedTargets() { return HWY_NEON; }

}  // namespace hwy

namespace dequant {

Executor default_executor() noexcept {
  return {[](void*, std::size_t count, Executor::Task task, void* context) {
            for (std::size_t i = 0; i < count; ++i) task(context, i);
          },
          nullptr};
}

ThreadPool::ThreadPool(int) noexcept : threads_(0) {}
Executor ThreadPool::executor() noexcept { return default_executor(); }

}  // namespace dequant
