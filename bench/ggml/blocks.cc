// Runs the dequantizers of ggml beside dequant; compare.py builds and starts it.
//
//   blocks bits ELEMENTS TYPES LIBRARY...   counts results whose bits differ
//   blocks times PAIRS TYPES LIBRARY...     ggml's time divided by dequant's
//
// A library is ggml-quants.c as a shared object. TYPES are names with commas; empty: all.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dequant/dequant.hpp"

namespace {

using dequant::BlockType;
using Row = void (*)(const void* blocks, float* y, int64_t elements);

/// ggml's function of a type; nullptr where it has none.
Row row_function(void* library, BlockType type) {
  std::string name = "dequantize_row_" + std::string(dequant::name(type));
  // Upper-case letters are lower-case ones there, but for the last K.
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (name.ends_with("_k")) name.back() = 'K';
  return reinterpret_cast<Row>(dlsym(library, name.c_str()));
}

dequant::Plan plan_of(BlockType type, int64_t elements) {
  const int64_t shape[] = {elements};
  return dequant::gguf::dequantize({.type = type,
                                    .shape = shape,
                                    .output = dequant::Element::float32,
                                    .has_scale = false})
      .value();
}

void run_dequant(const dequant::Plan& plan, const std::vector<uint8_t>& x, std::vector<float>& y) {
  const dequant::RunOptions options{.executor = dequant::sequential_executor()};
  const dequant::Buffers buffers{.x = std::as_bytes(std::span(x)),
                                 .scale = {},
                                 .zero_point = {},
                                 .y = std::as_writable_bytes(std::span(y))};
  if (!run(plan, buffers, options)) std::abort();
}

/// Random bytes. With `tame` bits 5 to 7 of each are fixed, so that scales are finite.
void fill(std::vector<uint8_t>& x, uint64_t seed, bool tame) {
  uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (size_t i = 0; i + 8 <= x.size(); i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t word = state * 0x2545F4914F6CDD1D;
    const uint64_t kept = tame ? (word & 0x1F1F1F1F1F1F1F1F) | 0x2020202020202020 : word;
    std::memcpy(&x[i], &kept, 8);
  }
}

/// Results with different bits, where NaNs are all the same.
int64_t differences(const std::vector<float>& a, const std::vector<float>& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    count += std::memcmp(&a[i], &b[i], 4) != 0 && !(std::isnan(a[i]) && std::isnan(b[i]));
  }
  return count;
}

bool compare_bits(BlockType type, const std::vector<void*>& libraries, int64_t elements) {
  constexpr int64_t kAtOnce = int64_t{1} << 20;
  std::vector<uint8_t> x(
      static_cast<size_t>(kAtOnce / block_elements(type) * block_bytes(type) + 8));
  std::vector<float> y(kAtOnce);
  std::vector<float> theirs(kAtOnce);
  const auto plan = plan_of(type, kAtOnce);
  const size_t used = x.size() - 8;
  std::printf("%-8s", std::string(name(type)).c_str());
  std::vector<int64_t> wrong(libraries.size());
  for (int64_t done = 0; done < elements; done += kAtOnce) {
    x.resize(used + 8);
    fill(x, static_cast<uint64_t>(done) + static_cast<uint64_t>(type) * 7919 + 1, false);
    x.resize(used);
    run_dequant(plan, x, y);
    for (size_t l = 0; l < libraries.size(); ++l) {
      const Row row = row_function(libraries[l], type);
      if (row == nullptr) continue;
      row(x.data(), theirs.data(), kAtOnce);
      wrong[l] += differences(y, theirs);
    }
  }
  bool good = true;
  for (size_t l = 0; l < libraries.size(); ++l) {
    const bool has = row_function(libraries[l], type) != nullptr;
    std::printf("  %s", has ? std::to_string(wrong[l]).c_str() : "none");
    good = good && wrong[l] == 0;
  }
  std::printf("\n");
  std::fflush(stdout);
  return good;
}

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare_times(BlockType type, const std::vector<void*>& libraries, int64_t pairs) {
  std::printf("| %s |", std::string(name(type)).c_str());
  for (const int64_t elements : {int64_t{256} << 10, int64_t{64} << 20}) {
    std::vector<uint8_t> x(
        static_cast<size_t>(elements / block_elements(type) * block_bytes(type)));
    std::vector<float> y(static_cast<size_t>(elements));
    const auto plan = plan_of(type, elements);
    fill(x, 1, true);
    const int64_t repeats = std::max<int64_t>((int64_t{4} << 20) / elements, 1);
    const auto ours = [&] {
      for (int64_t i = 0; i < repeats; ++i) run_dequant(plan, x, y);
    };
    for (void* const library : libraries) {
      const Row row = row_function(library, type);
      if (row == nullptr) {
        std::printf(" |");
        continue;
      }
      const auto theirs = [&] {
        for (int64_t i = 0; i < repeats; ++i) row(x.data(), y.data(), elements);
      };
      ours();
      std::vector<double> ratios;
      for (int64_t i = 0; i < (elements > (1 << 20) ? std::max<int64_t>(pairs / 3, 3) : pairs);
           ++i) {
        const double a = seconds_of(ours);
        ratios.push_back(seconds_of(theirs) / a);
      }
      std::printf(" %.3g |", median(ratios));
      std::fflush(stdout);
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const bool bits = std::strcmp(argv[1], "bits") == 0;
  const int64_t amount = std::atoll(argv[2]);
  const std::string wanted = "," + std::string(argv[3]) + ",";
  std::vector<void*> libraries;
  for (int i = 4; i < argc; ++i) {
    libraries.push_back(dlopen(argv[i], RTLD_LAZY | RTLD_LOCAL));
    if (libraries.back() == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 2;
    }
  }
  bool good = true;
  for (const BlockType type : dequant::block_types()) {
    if (wanted != ",," && wanted.find("," + std::string(name(type)) + ",") == std::string::npos) {
      continue;
    }
    if (bits) good = compare_bits(type, libraries, amount) && good;
    if (!bits) compare_times(type, libraries, amount);
  }
  return good ? 0 : 1;
}
