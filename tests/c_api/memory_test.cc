// Memory that runs out at any allocation: the call says so, makes nothing and leaks nothing.
#include <cstdlib>
#include <new>

#include "c_api/call.h"
#include "c_api/directml_node.h"

namespace {

// Of this thread.
thread_local long allocations_left = -1;  ///< until they fail; -1: never
thread_local long blocks = 0;             ///< allocated and not freed

}  // namespace

// All forms but the aligned ones, since a sanitizer brings forms of its own for those left out.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (allocations_left == 0) return nullptr;
  if (allocations_left > 0) --allocations_left;
  void* block = std::malloc(size != 0 ? size : 1);
  if (block != nullptr) ++blocks;
  return block;
}

void* operator new(std::size_t size) {
  void* block = operator new(size, std::nothrow);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}

void operator delete(void* block) noexcept {
  if (block != nullptr) --blocks;
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete[](void* block, std::size_t) noexcept { operator delete(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { operator delete(block); }

namespace dequant::testing::c::memory_test {
namespace {

struct Result {
  dequant_code code;
  dequant_error error = sized<dequant_error>();
  long leaked;
};

/// Calls a function that can allocate only `count` times.
template <class Call>
Result with_allocations(long count, Call function) {
  Result result{};
  result.error.struct_size = sizeof result.error;
  const long before = blocks;
  allocations_left = count;
  result.code = function(&result.error);
  allocations_left = -1;
  result.leaked = blocks - before;
  return result;
}

/// A call fails for lack of memory until it has enough, after which it returns `good`.
template <class Call>
void expect_good_or_out_of_memory(dequant_code good, Call function) {
  const long enough = 100;
  for (long count = 0; count < enough; ++count) {
    const Result result = with_allocations(count, function);
    EXPECT_EQ(result.leaked, 0) << count;
    if (result.code == good) {
      EXPECT_GT(count, 0) << "it never allocated";
      return;
    }
    EXPECT_EQ(result.code, DEQUANT_OUT_OF_MEMORY) << count;
    EXPECT_TRUE(std::string(result.error.message).starts_with("out of memory")) << count;
  }
  FAIL() << "still fails after " << enough;
}

/// Makes a plan and frees it; a failure makes none.
template <class Function, class Node>
auto planning(Function function, const Node* node) {
  return [=](dequant_error* error) {
    auto* plan = reinterpret_cast<dequant_plan*>(error);
    const dequant_code code = function(node, &plan, error);
    if (code != DEQUANT_OK && plan != nullptr) return DEQUANT_IO;
    dequant_plan_free(plan);
    return code;
  };
}

TEST(Hostile, MemoryThatEndsAnywhereInAPlanIsReported) {
  const OnnxNode onnx_owner;
  const auto onnx = onnx_owner.view();
  expect_good_or_out_of_memory(DEQUANT_OK, planning(dequant_plan_onnx, &onnx));
  const TensorFlowNode tensorflow_owner;
  const auto tensorflow = tensorflow_owner.view();
  expect_good_or_out_of_memory(DEQUANT_OK, planning(dequant_plan_tensorflow, &tensorflow));
  DirectMLNode directml_owner;
  const auto directml = [](const void* desc, dequant_plan** plan, dequant_error* error) {
    return dequant_plan_directml(desc, DML_FEATURE_LEVEL_6_2, plan, error);
  };
  expect_good_or_out_of_memory(DEQUANT_OK, planning(directml, directml_owner.view()));
}

TEST(Hostile, MemoryThatEndsWithinAMessageIsReported) {
  const OnnxNode owner{.scale_dims = {7}};
  const auto node = owner.view();
  expect_good_or_out_of_memory(DEQUANT_INVALID_ARGUMENT, planning(dequant_plan_onnx, &node));
}

TEST(Hostile, MemoryThatEndsBeforeARunIsNotMissed) {
  constexpr size_t kCount = 200'000;
  const auto planned = plan(OnnxNode{.x_dims = {int64_t{kCount}}});
  Buffers b{.x = Memory(kCount), .scale = Memory(4), .y = Memory(kCount * 4, kUntouched)};
  const auto view = b.view();
  auto options = sized<dequant_options>();
  options.parallel_for = [](void*, size_t count, dequant_task task, void* context) {
    for (size_t i = 0; i < count; ++i) task(context, i);
    return 0;
  };
  const Result result = with_allocations(0, [&](dequant_error* error) {
    return dequant_run(planned.plan.get(), &view, &options, error);
  });
  EXPECT_EQ(result.code, DEQUANT_OK) << result.error.message;
  EXPECT_EQ(b.y, Memory(kCount * 4));
}

TEST(Memory, IsNotNeededForARunOnTheCallersThread) {
  const auto planned = plan(OnnxNode{.x_dims = {200'000}});
  Buffers b{.x = Memory(200'000), .scale = Memory(4), .y = Memory(800'000, kUntouched)};
  const auto view = b.view();
  auto options = sized<dequant_options>();
  options.threads = 1;
  const Result result = with_allocations(0, [&](dequant_error* error) {
    return dequant_run(planned.plan.get(), &view, &options, error);
  });
  EXPECT_EQ(result.code, DEQUANT_OK) << result.error.message;
}

TEST(Memory, IsNotNeededForASmallTensorWhateverTheThreads) {
  const auto planned = plan(OnnxNode{.x_dims = {16}});
  Buffers b{.x = Memory(16), .scale = Memory(4), .y = Memory(64, kUntouched)};
  const auto view = b.view();
  for (const int threads : {0, 1, 2, 1000}) {
    auto options = sized<dequant_options>();
    options.threads = threads;
    const Result result = with_allocations(0, [&](dequant_error* error) {
      return dequant_run(planned.plan.get(), &view, &options, error);
    });
    EXPECT_EQ(result.code, DEQUANT_OK) << threads << ": " << result.error.message;
  }
}

TEST(Memory, OfAPlanIsFreedWithIt) {
  const OnnxNode owner;
  const auto node = owner.view();
  const Result result = with_allocations(-1, planning(dequant_plan_onnx, &node));
  EXPECT_EQ(result.code, DEQUANT_OK);
  EXPECT_EQ(result.leaked, 0);
}

}  // namespace
}  // namespace dequant::testing::c::memory_test
