// The cells that `dequant bench` measures, under Google Benchmark.
//
//   dequantize/<input>/<output>/<granularity>/<elements>            one thread
//   ranges/<input>/<output>/<rule>[/<granularity>]/<elements>       TensorFlow's rules
//   strided/<input>/<output>/<placement>/<elements>                 tensors with strides
//   cliff/<input>/<output>/<shape>/<elements>                       shapes that are often slow
//
// Each cell also exists as <name>/threads, for all processors. 256Ki elements of output fit in the
// caches, 256Mi do not. Gelements/s counts elements of the output. bytes/s counts bytes read
// (codes, scales, zero points) and written. percent_of_ceiling is relative to the ceiling of the
// cell; both are measured alternately before the benchmark.
//
//   dequant_bench --benchmark_filter='dequantize/int4/float16/.*/256Ki$'
#include <benchmark/benchmark.h>

#include <string>

#include "bench/measure/meter.h"
#include "dequant/dequant.hpp"

namespace {

using dequant::bench::Cell;
using dequant::bench::Measurement;
using dequant::bench::Meter;
using dequant::bench::Workload;

struct Size {
  const char* name;
  int64_t elements;
};
constexpr Size kSizes[] = {{"256Ki", int64_t{1} << 18}, {"256Mi", int64_t{1} << 28}};

/// A benchmark of a cell. Google Benchmark calls it several times; the first call measures the
/// ceiling.
struct Benchmark {
  Meter& meter;
  Cell cell;
  Size size;
  int threads;
  double percent = 0;

  dequant::Status run(benchmark::State& state) {
    if (percent == 0) {
      DEQUANT_TRY(const auto measured, meter.measure(cell, size.elements, {threads, 5}));
      percent = measured.percent_of_ceiling;
    }
    DEQUANT_TRY(const auto work, Workload::make(cell, size.elements, meter.memories()));
    const dequant::RunOptions options{meter.executor(threads)};
    for (auto _ : state) {
      DEQUANT_CHECK(dequant::run(work.plan, work.buffers, options));
      benchmark::ClobberMemory();
    }
    const auto rate = benchmark::Counter::kIsIterationInvariantRate;
    const auto elements = static_cast<double>(work.elements);
    state.counters["Gelements/s"] = benchmark::Counter(elements * 1e-9, rate);
    state.counters["bytes/s"] = benchmark::Counter(static_cast<double>(work.bytes), rate);
    state.counters["percent_of_ceiling"] = percent;
    return {};
  }
};

std::string name_of(const Cell& cell, const Size& size) {
  const bool packed = cell.name.rfind(std::string(name(cell.input)) + "/", 0) == 0;
  return (packed ? "dequantize/" : "") + cell.name + "/" + size.name;
}

void add(const std::string& name, Benchmark benchmark) {
  const auto run = [benchmark](benchmark::State& state) mutable {
    if (const auto status = benchmark.run(state); !status) {
      state.SkipWithError(status.error().message.c_str());
    }
  };
  if (benchmark.threads == 1) {
    benchmark::RegisterBenchmark(name.c_str(), run);
  } else {
    benchmark::RegisterBenchmark((name + "/threads").c_str(), run)->UseRealTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  Meter meter;
  for (const Size& size : kSizes) {
    for (const Cell& cell : dequant::bench::all_cells()) {
      for (const int threads : {1, 0}) {
        add(name_of(cell, size), {meter, cell, size, threads});
      }
    }
  }
  benchmark::AddCustomContext("target", std::string(dequant::active_target()));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
