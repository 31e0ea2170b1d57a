// cuda::run() in a graph of CUDA: on a device only.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "cuda/on_device.h"
#include "dequant/cuda.h"
#include "support/random_plan.h"

namespace dequant::cuda_graph_test {
namespace {

using testing::Bytes;
using testing::DeviceMemory;
using enum Element;

constexpr int64_t kCount = 5000;  // whole vectors, and elements that fill none

Bytes on_host(const Plan& plan, const Bytes& x, const Bytes& scale) {
  Bytes y(kCount * 2);
  EXPECT_TRUE(run(plan, {.x = x, .scale = scale, .y = y}));
  return y;
}

/// A graph that was captured once computes what is in memory when it is launched.
TEST(CudaGraph, CapturesCallsAndRunsThemAgain) {
  testing::Random random(301);
  const Plan plan{.input = uint8, .output = bfloat16, .inner = kCount};
  const Bytes scale = testing::pack(float32, {0x3D123456});
  const Bytes first = testing::random_bytes(random, kCount);
  const Bytes second = testing::random_bytes(random, kCount);
  DeviceMemory x(first, 0), scales(scale, 0), y(Bytes(kCount * 2), 0);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  const Status status =
      cuda::run(plan, {.x = x.span(), .scale = scales.span(), .y = y.span()}, {.stream = stream});
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_TRUE(status) << status.error().message;
  cudaGraphExec_t captured = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&captured, graph, 0), cudaSuccess);
  for (const Bytes& codes : {first, second}) {
    ASSERT_TRUE(cuda::devices().copy_in(x.span().data(), codes, stream));
    ASSERT_EQ(cudaGraphLaunch(captured, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(y.bytes(), on_host(plan, codes, scale));
  }
  cudaGraphExecDestroy(captured);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace dequant::cuda_graph_test
