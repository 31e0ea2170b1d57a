// What the tests need of libraries that a cross compiler's machine does not have: Highway's question
// to the processor, answered with NEON, and oneTBB's pool, replaced by the calling thread.
#include "dequant/executor.h"
#include "hwy/targets.h"

namespace hwy {

int64_t SupportedTargets() { return HWY_NEON; }

}  // namespace hwy

namespace dequant {

struct ThreadPool::Impl {};

Executor default_executor() noexcept { return {}; }

ThreadPool::ThreadPool(int) {}
ThreadPool::~ThreadPool() = default;
Executor ThreadPool::executor() noexcept { return {}; }

}  // namespace dequant
