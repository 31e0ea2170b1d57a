// The time of a call for a small tensor, relative to a loop that a program could write instead.
//
//   small_bench                    16 elements: loops, run(), plan + run()
//   small_bench --linear[=LAST]    time of an element for 2^10 to 2^LAST elements (default 28)
//   small_bench --cliffs           shapes that are often slow, compared with ordinary shapes
//
// --json prints one JSON object. All times are medians of interleaved samples.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "dequant/dequant.hpp"
#include "growth.h"
#include "loops.h"
#include "timing.h"

namespace small_bench {
namespace {

constexpr int kRounds = 401;
constexpr double kSample = 20e3;  // nanoseconds

/// A tensor of 16 elements and the node that dequantizes it.
struct Small {
  static constexpr int64_t kCount = 16;
  uint8_t x[kCount] = {0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, 221, 238, 255};
  float scale = 0.03125F;
  uint8_t zero_point = 128;
  float y[kCount] = {};
  int64_t shape[1] = {kCount};

  Loop loop() { return {x, scale, zero_point, kCount, y}; }
  dequant::Buffers buffers() {
    return {.x = std::as_bytes(std::span(x)),
            .scale = std::as_bytes(std::span(&scale, 1)),
            .zero_point = std::as_bytes(std::span(&zero_point, 1)),
            .y = std::as_writable_bytes(std::span(y))};
  }
  dequant::onnx::DequantizeLinear node() const {
    dequant::onnx::DequantizeLinear node;
    node.x = {dequant::Element::uint8, shape};
    node.x_scale = {dequant::Element::float32, {}};
    node.x_zero_point = dequant::TensorType{dequant::Element::uint8, {}};
    return node;
  }
};

void must(bool good) {
  if (good) return;
  std::fputs("small_bench: a call failed\n", stderr);
  std::exit(1);
}

std::vector<Contestant> contestants(Small& s) {
  const auto plan = dequant::onnx::dequantize_linear(s.node()).value();
  const auto runs = [&s, plan](const dequant::RunOptions& options) {
    return [&s, plan, options](int64_t times) {
      for (; times > 0; --times) {
        forget();
        must(static_cast<bool>(run(plan, s.buffers(), options)));
      }
    };
  };
  const auto plans_and_runs = [&s](int64_t times) {
    for (; times > 0; --times) {
      forget();
      const auto made = dequant::onnx::dequantize_linear(s.node());
      must(made && static_cast<bool>(run(*made, s.buffers())));
    }
  };
  const auto plans = [&s](int64_t times) {
    for (; times > 0; --times) {
      forget();
      must(static_cast<bool>(dequant::onnx::dequantize_linear(s.node())));
    }
  };
  return {{"scalar loop", [&s](int64_t times) { scalar_loop(s.loop(), times); }},
          {"vectorized loop", [&s](int64_t times) { vector_loop(s.loop(), times); }},
          {"run, default options",
           [&s, plan](int64_t times) {
             for (; times > 0; --times) {
               forget();
               must(static_cast<bool>(run(plan, s.buffers())));
             }
           }},
          {"run, sequential", runs({.executor = dequant::sequential_executor()})},
          {"plan", plans},
          {"plan + run", plans_and_runs}};
}

void report_small(bool json) {
  Small s;
  std::vector<Contestant> all = contestants(s);
  time_all(all, kRounds, kSample);
  const double unit = all.front().nanoseconds;
  if (json) {
    std::printf("{\"target\": \"%s\", \"elements\": %d, \"calls\": [",
                std::string(dequant::active_target()).c_str(), static_cast<int>(Small::kCount));
    const char* comma = "";
    for (const Contestant& c : all) {
      std::printf("%s\n  {\"name\": \"%s\", \"ns\": %.2f, \"scalar_loops\": %.2f}", comma,
                  c.name.c_str(), c.nanoseconds, c.nanoseconds / unit);
      comma = ",";
    }
    std::puts("\n]}");
    return;
  }
  std::printf("16 elements, uint8 -> float32, %s\n%-22s %8s %14s\n",
              std::string(dequant::active_target()).c_str(), "call", "ns", "scalar loops");
  for (const Contestant& c : all) {
    std::printf("%-22s %8.1f %14.2f\n", c.name.c_str(), c.nanoseconds, c.nanoseconds / unit);
  }
}

void report(const std::vector<Cost>& costs, bool json) {
  if (json)
    std::printf("{\"costs\": [");
  else
    std::printf("%-34s %12s %12s %7s  %s\n", "cell", "elements", "ns/element", "ratio", "to");
  const char* comma = "";
  for (const Cost& c : costs) {
    if (json) {
      std::printf(
          "%s\n  {\"cell\": \"%s\", \"elements\": %lld, \"ns_per_element\": %.4f, "
          "\"ratio\": %.3f, \"neighbour\": \"%s\"}",
          comma, c.cell.c_str(), static_cast<long long>(c.elements), c.nanoseconds, c.ratio,
          c.neighbour.c_str());
      comma = ",";
    } else {
      std::printf("%-34s %12lld %12.4f %7.2f  %s\n", c.cell.c_str(),
                  static_cast<long long>(c.elements), c.nanoseconds, c.ratio, c.neighbour.c_str());
    }
  }
  if (json) std::puts("\n]}");
}

int main(int argc, char** argv) {
  bool json = false;
  bool shapes = false;
  int last = 0;
  for (const std::string_view arg : std::span(argv, static_cast<size_t>(argc)).subspan(1)) {
    if (arg == "--json") {
      json = true;
    } else if (arg == "--cliffs") {
      shapes = true;
    } else if (arg == "--linear") {
      last = 28;
    } else if (arg.starts_with("--linear=") && std::atoi(arg.data() + 9) >= 10 &&
               std::atoi(arg.data() + 9) <= 31) {
      last = std::atoi(arg.data() + 9);
    } else {
      const bool help = arg == "--help";
      std::fputs("usage: small_bench [--linear[=10..31] | --cliffs] [--json]\n",
                 help ? stdout : stderr);
      return help ? 0 : 2;
    }
  }
  if (last != 0) {
    report(straight_line(last), json);
  } else if (shapes) {
    report(cliffs(), json);
  } else {
    report_small(json);
  }
  return 0;
}

}  // namespace
}  // namespace small_bench

int main(int argc, char** argv) { return small_bench::main(argc, argv); }
