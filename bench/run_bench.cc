// The speed of run() for every input, output and granularity: a new element appears by itself.
//
//   dequantize/<input>/<output>/<granularity>/<elements>            one thread
//   dequantize/<input>/<output>/<granularity>/<elements>/threads    all processors
//   memcpy/float32/<elements>                                       what memory allows
//
// 256Ki elements of output stay in the caches, 256Mi do not. Gelements/s counts outputs; bytes/s counts
// what is read (codes, scales, zero points) and what is written. Scales have the type of the output,
// integers a zero point. Memory: 1.3 GiB, with 16- and 32-bit inputs up to 2.1 GiB.
//
//   dequant_bench --benchmark_filter='dequantize/int4/float16/.*/256Ki$'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "dequant/dequant.h"

namespace {

using dequant::Element;
using dequant::Granularity;
using dequant::Plan;

/// x as [outer, axis, inner]; an inner of 0 takes all elements that are left.
struct Shape {
  const char* name;
  Granularity granularity;
  int64_t axis;
  int64_t inner;
  int64_t block;
};
constexpr Shape kShapes[] = {
    {"per_tensor", Granularity::per_tensor, 1, 0, 1},
    {"per_axis_first", Granularity::per_axis, 256, 0, 1},
    {"per_axis_middle", Granularity::per_axis, 64, 1024, 1},
    {"per_axis_last", Granularity::per_axis, 4096, 1, 1},
    {"blocked_32_last", Granularity::blocked, 4096, 1, 32},
    {"blocked_128_last", Granularity::blocked, 4096, 1, 128},
    {"blocked_32_middle", Granularity::blocked, 64, 1024, 32},
};

struct Size {
  const char* name;
  int64_t elements;
};
constexpr Size kSizes[] = {{"256Ki", int64_t{1} << 18}, {"256Mi", int64_t{1} << 28}};

Plan plan_of(Element x, Element y, const Shape& shape, int64_t elements) {
  const int64_t inner = shape.inner != 0 ? shape.inner : elements / shape.axis;
  return {.input = x,
          .scale = y,
          .output = y,
          .has_zero_point = kind(x) != dequant::Kind::floating,
          .granularity = shape.granularity,
          .outer = elements / shape.axis / inner,
          .axis = shape.axis,
          .inner = inner,
          .block = shape.block};
}

/// Memory that all benchmarks share; it grows to the largest need and is touched when it does.
class Memory {
 public:
  std::span<std::byte> get(int64_t size) {
    const auto need = static_cast<size_t>(size);
    if (need > size_) {
      bytes_.reset();
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(need);
      size_ = need;
      uint64_t state = 1;
      for (size_t i = 0; i < need; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        bytes_[i] = static_cast<std::byte>(state >> 56);
      }
    }
    return {bytes_.get(), need};
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  size_t size_ = 0;
};

struct Memories {
  Memory x, scale, zero_point, y;
};

/// Plain numbers: random bytes whose highest are those of values from 0.03 to 0.06.
void make_plain(Element scale, std::span<std::byte> data) {
  const auto width = static_cast<size_t>(bits(scale)) / 8;
  const auto top = scale == Element::float16 ? std::byte{0x28} : std::byte{0x3D};
  for (size_t i = width - 1; i < data.size(); i += width) {
    data[i] = top;
    if (scale != Element::float16) data[i - 1] &= std::byte{0x7F};
  }
}

void count(benchmark::State& state, int64_t elements, int64_t bytes) {
  const auto rate = benchmark::Counter::kIsIterationInvariantRate;
  state.counters["Gelements/s"] = benchmark::Counter(static_cast<double>(elements) * 1e-9, rate);
  state.counters["bytes/s"] = benchmark::Counter(static_cast<double>(bytes), rate);
}

void dequantize(benchmark::State& state, Memories& memories, const Plan& plan,
                dequant::Executor executor) {
  const int64_t elements = element_count(plan);
  const int64_t scales = scale_count(plan);
  const int64_t x_bytes = dequant::packed_bytes(plan.input, elements).value();
  const int64_t scale_bytes = dequant::packed_bytes(plan.scale, scales).value();
  const int64_t zero_bytes =
      plan.has_zero_point ? dequant::packed_bytes(plan.input, scales).value() : 0;
  const int64_t y_bytes = dequant::packed_bytes(plan.output, elements).value();

  const dequant::Buffers buffers{memories.x.get(x_bytes), memories.scale.get(scale_bytes),
                                 memories.zero_point.get(zero_bytes), memories.y.get(y_bytes)};
  make_plain(plan.scale, memories.scale.get(scale_bytes));
  for (auto _ : state) {
    const dequant::Status status = run(plan, buffers, {.executor = executor});
    if (!status) return state.SkipWithError(status.error().message.c_str());
    benchmark::ClobberMemory();
  }
  count(state, elements, x_bytes + scale_bytes + zero_bytes + y_bytes);
}

void copy(benchmark::State& state, Memories& memories, int64_t elements) {
  const auto from = memories.x.get(elements * 4);
  const auto to = memories.y.get(elements * 4);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  count(state, elements, elements * 8);
}

void register_all(Memories& memories) {
  for (const Size& size : kSizes) {
    benchmark::RegisterBenchmark(
        (std::string("memcpy/float32/") + size.name).c_str(),
        [&memories, size](benchmark::State& state) { copy(state, memories, size.elements); });
    for (const Element x : dequant::elements()) {
      for (const Element y : {Element::float32, Element::float16, Element::bfloat16}) {
        if (!is_input(x)) continue;
        for (const Shape& shape : kShapes) {
          const Plan plan = plan_of(x, y, shape, size.elements);
          const std::string name = "dequantize/" + std::string(dequant::name(x)) + "/" +
                                   std::string(dequant::name(y)) + "/" + shape.name + "/" +
                                   size.name;
          benchmark::RegisterBenchmark(name.c_str(), [&memories, plan](benchmark::State& state) {
            dequantize(state, memories, plan, dequant::sequential_executor());
          });
          benchmark::RegisterBenchmark((name + "/threads").c_str(), [&memories, plan](
                                                                        benchmark::State& state) {
            dequantize(state, memories, plan, dequant::default_executor());
          })->UseRealTime();
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Memories memories;
  register_all(memories);
  benchmark::AddCustomContext("target", std::string(dequant::active_target()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
