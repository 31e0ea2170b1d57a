// The cells of `dequant bench` on a CUDA device beside the faster of two kernels that only read and
// write as many bytes, in turns; and the time of a launch. Prints JSON that bench/tables.py reads.
//
//   device_bench                       the usual cells, checkpoints and blocks, 1 GiB of output
//   device_bench --bytes 67108864 --cells 'gguf/*' 'checkpoint/*'
//   device_bench --sizes               one cell at sizes from 4 KiB to 1 GiB
#include <cuda_runtime_api.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/measure/meter.h"
#include "copy.h"
#include "dequant/cuda.h"

namespace dequant::bench {
namespace {

using nlohmann::ordered_json;

Status check(cudaError_t error) {
  if (error == cudaSuccess) return {};
  return Error{ErrorCode::unsupported, std::string("CUDA: ") + cudaGetErrorString(error)};
}

/// Memory of the device that grows.
class DeviceBytes {
 public:
  ~DeviceBytes() { cudaFree(memory_); }

  Result<std::byte*> get(size_t bytes) {
    if (bytes > size_) {
      cudaFree(memory_);
      memory_ = nullptr;
      size_ = 0;
      DEQUANT_CHECK(check(cudaMalloc(&memory_, bytes)));
      size_ = bytes;
    }
    return static_cast<std::byte*>(memory_);
  }

  /// A copy of bytes of a Workload. These are the same for each kind of content, from the first one
  /// on, so that the device may have them already: most of the time would go into copies.
  Result<std::span<std::byte>> copy_of(std::span<const std::byte> bytes) {
    if (bytes.empty()) return std::span<std::byte>();
    const auto first = bytes.first(std::min(bytes.size(), kSample));
    const bool there =
        bytes.size() <= copied_ && std::ranges::equal(first, std::span(first_).first(first.size()));
    DEQUANT_TRY(std::byte* const memory, get(bytes.size()));
    if (!there) {
      DEQUANT_CHECK(check(cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice)));
      std::ranges::copy(first, first_.begin());
      copied_ = bytes.size();
    }
    return std::span(memory, bytes.size());
  }

 private:
  static constexpr size_t kSample = 64;

  void* memory_ = nullptr;
  size_t size_ = 0;
  size_t copied_ = 0;
  std::array<std::byte, kSample> first_{};
};

/// Seconds of some work on the default stream.
class Timer {
 public:
  Timer() {
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  ~Timer() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }

  Result<double> seconds(int times, const std::function<Status()>& work) {
    DEQUANT_CHECK(check(cudaEventRecord(begin_)));
    for (int i = 0; i < times; ++i) DEQUANT_CHECK(work());
    DEQUANT_CHECK(check(cudaEventRecord(end_)));
    DEQUANT_CHECK(check(cudaEventSynchronize(end_)));
    float milliseconds = 0;
    DEQUANT_CHECK(check(cudaEventElapsedTime(&milliseconds, begin_, end_)));
    return milliseconds * 1e-3 / times;
  }

 private:
  cudaEvent_t begin_{};
  cudaEvent_t end_{};
};

class Bench {
 public:
  explicit Bench(int rounds) : rounds_(rounds) {}

  /// The object of a cell whose output has about so many bytes.
  Result<ordered_json> measure(const Cell& cell, int64_t y_bytes) {
    DEQUANT_TRY(const Workload work, Workload::make(cell, y_bytes * 8 / bits(cell.output), host_));
    DEQUANT_TRY(const Buffers device, on_device(work.buffers));
    const auto read = static_cast<size_t>(work.bytes) - work.traffic.write.size();
    DEQUANT_TRY(std::byte* const from, from_.get(std::max<size_t>(read, 16)));
    const auto times =
        static_cast<int>(std::clamp<int64_t>((int64_t{1} << 30) / work.bytes, 1, 20));
    const auto run = [&] { return cuda::run(work.plan, device, {.faults = faults_}); };
    const auto ceiling = [&](int writes) {
      return timer_.seconds(times, [&] {
        return check(copy(writes, from, read, device.y.data(), work.traffic.write.size(), nullptr));
      });
    };
    std::vector<double> of_run, of_ceiling, percents;
    for (int round = -1; round < rounds_; ++round) {
      DEQUANT_TRY(const double r, timer_.seconds(times, run));
      DEQUANT_TRY(const double one, ceiling(1));
      DEQUANT_TRY(const double four, ceiling(4));
      const double c = std::min(one, four);
      if (round < 0) continue;  // the first loads the kernels
      of_run.push_back(r);
      of_ceiling.push_back(c);
      percents.push_back(100 * c / r);
    }
    const double seconds = median(of_run);
    return ordered_json{{"cell", cell.name},
                        {"input", name(cell.input)},
                        {"output", name(cell.output)},
                        {"granularity", cell.granularity},
                        {"rule", name(cell.rule)},
                        {"elements", work.elements},
                        {"threads", 1},
                        {"bytes", work.bytes},
                        {"seconds", seconds},
                        {"bytes_per_second", static_cast<double>(work.bytes) / seconds},
                        {"ceiling_seconds", median(of_ceiling)},
                        {"percent_of_ceiling", median(percents)}};
  }

  Status start() {
    void* memory = nullptr;
    DEQUANT_CHECK(check(cudaMalloc(&memory, sizeof(uint32_t))));
    faults_ = static_cast<uint32_t*>(memory);
    return {};
  }

 private:
  Result<Buffers> on_device(const Buffers& b) {
    Buffers out;
    DEQUANT_TRY(out.x, memory_[0].copy_of(b.x));
    DEQUANT_TRY(out.scale, memory_[1].copy_of(b.scale));
    DEQUANT_TRY(out.zero_point, memory_[2].copy_of(b.zero_point));
    DEQUANT_TRY(out.min_range, memory_[3].copy_of(b.min_range));
    DEQUANT_TRY(out.max_range, memory_[4].copy_of(b.max_range));
    DEQUANT_TRY(out.group_index, memory_[5].copy_of(b.group_index));
    DEQUANT_TRY(out.codebook, memory_[6].copy_of(b.codebook));
    DEQUANT_TRY(std::byte* const y, memory_[7].get(b.y.size()));
    out.y = std::span(y, b.y.size());
    return out;
  }

  int rounds_;
  Memories host_;
  std::array<DeviceBytes, 8> memory_;
  DeviceBytes from_;
  uint32_t* faults_ = nullptr;
  Timer timer_;
};

struct Options {
  std::vector<std::string> cells{"*/per_*", "*/blocked_*", "strided/*", "checkpoint/*", "gguf/*"};
  int64_t bytes = int64_t{1} << 30;
  int rounds = 9;
  bool sizes = false;
};

Result<ordered_json> report(const Options& o) {
  cudaDeviceProp properties{};
  int driver = 0;
  DEQUANT_CHECK(check(cudaGetDeviceProperties(&properties, 0)));
  DEQUANT_CHECK(check(cudaDriverGetVersion(&driver)));
  Bench bench(o.rounds);
  DEQUANT_CHECK(bench.start());
  Filter filter;
  filter.cells = o.sizes ? std::vector<std::string>{"uint8/bfloat16/blocked_128_last"} : o.cells;
  DEQUANT_TRY(const auto cells, select(filter));
  ordered_json measured = ordered_json::array();
  for (const Cell& cell : cells) {
    for (int64_t bytes = o.sizes ? 4096 : o.bytes; bytes <= o.bytes; bytes *= 4) {
      std::fprintf(stderr, "%s, %lld bytes\n", cell.name.c_str(), static_cast<long long>(bytes));
      DEQUANT_TRY(auto one, bench.measure(cell, bytes));
      measured.push_back(std::move(one));
    }
  }
  return ordered_json{{"target", properties.name}, {"device", true},
                      {"driver", driver},          {"rounds", o.rounds},
                      {"output_bytes", o.bytes},   {"cells", std::move(measured)}};
}

}  // namespace
}  // namespace dequant::bench

int main(int argc, char** argv) {
  dequant::bench::Options o;
  CLI::App app{"The cells of dequant bench on a CUDA device beside a copy of as many bytes"};
  app.add_option("--cells", o.cells, "Names or globs of cells");
  app.add_option("--bytes", o.bytes, "Bytes of output")->check(CLI::PositiveNumber);
  app.add_option("--rounds", o.rounds, "Measurements of each cell")->check(CLI::PositiveNumber);
  app.add_flag("--sizes", o.sizes, "One cell at sizes from 4 KiB on, up to --bytes");
  CLI11_PARSE(app, argc, argv);
  const auto report = dequant::bench::report(o);
  if (!report) {
    std::fprintf(stderr, "device_bench: %s\n", report.error().message.c_str());
    return report.error().code == dequant::ErrorCode::unsupported ? 4 : 2;
  }
  std::printf("%s\n", report->dump(2).c_str());
}
