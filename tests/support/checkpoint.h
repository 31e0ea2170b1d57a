// Checkpoints that their producers' own code wrote, and the floats that the producers' own
// dequantizers give.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dequant/isa.h"
#include "plan/strided.h"
#include "support/expect_error.h"
#include "support/forced_target.h"
#include "support/packed.h"

namespace dequant::testing {

namespace fs = std::filesystem;

inline fs::path checkpoints() {
  const char* shared = std::getenv("DEQUANT_SHARED");
  return fs::path(shared != nullptr ? shared : DEQUANT_SHARED_FOLDER) / "checkpoints";
}

/// The tensors of the files of a folder whose names start so, by their names. Just enough of a
/// reader for files that are known to be good.
class Folder {
 public:
  Folder(const std::string& folder, const std::string& start) {
    for (const auto& entry : fs::directory_iterator(checkpoints() / folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(start) && name.ends_with(".safetensors")) read(entry.path());
    }
  }

  /// The bytes of a tensor; none, and a failure, if there is no such.
  Bytes operator[](const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) ADD_FAILURE() << name << " is missing";
    return found == tensors_.end() ? Bytes{} : found->second;
  }

 private:
  void read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    uint64_t length = 0;
    std::memcpy(&length, all.data(), sizeof length);
    const std::string header = all.substr(8, length);
    const std::string key = "\"data_offsets\":[";
    for (size_t at = header.find(key); at != std::string::npos; at = header.find(key, at + 1)) {
      const size_t brace = header.rfind(":{\"dtype\"", at);
      const size_t quote = header.rfind('"', brace - 2);
      const std::string name = header.substr(quote + 1, brace - quote - 2);
      size_t digits = 0;
      const std::string numbers = header.substr(at + key.size());
      const uint64_t begin = std::stoull(numbers, &digits);
      const uint64_t end = std::stoull(numbers.substr(digits + 1));
      const auto* bytes = reinterpret_cast<const std::byte*>(all.data() + 8 + length);
      tensors_[name] = Bytes(bytes + begin, bytes + end);
    }
  }

  std::map<std::string, Bytes> tensors_;
};

/// Whether a producer tells -0 from +0.
enum class Zeros { differ, alike };

/// True for equal codes, and for any two NaNs.
inline bool same(Element y, uint32_t a, uint32_t b, Zeros zeros) {
  const double left = value_of(y, a);
  const double right = value_of(y, b);
  if (zeros == Zeros::alike && left == 0 && right == 0) return true;
  return a == b || (std::isnan(left) && std::isnan(right));
}

/// Whole and in bands of seven rows, on every target, the plan gives what the producer does.
inline void expect_golden(const Plan& types, const std::vector<Dimension>& dimensions,
                          int64_t columns, Buffers buffers, const Bytes& want,
                          Zeros zeros = Zeros::differ) {
  const auto plan = strided_plan(types, dimensions);
  ASSERT_TRUE(succeeds(plan));
  const int64_t count = element_count(*plan);
  ASSERT_EQ(want.size(), bytes_for(plan->output, count));
  const auto check = [&](const Bytes& y, std::string_view target) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t got = code_at(plan->output, y, i);
      ASSERT_TRUE(same(plan->output, got, code_at(plan->output, want, i), zeros))
          << target << ": element " << i << " of " << to_string(*plan);
    }
  };
  for (const std::string_view target : targets()) {
    const ForcedTarget forced(target);
    Bytes y(want.size());
    buffers.y = y;
    ASSERT_TRUE(succeeds(run(*plan, buffers)));
    ASSERT_NO_FATAL_FAILURE(check(y, target));
    Bytes banded(want.size());
    for (int64_t begin = 0; begin < count; begin += 7 * columns) {
      const Range band{begin, std::min(begin + 7 * columns, count)};
      const Slices s = slices_of(*plan, band);
      const auto part = [](auto all, Range bytes) {
        return all.subspan(static_cast<size_t>(bytes.begin),
                           static_cast<size_t>(bytes.end - bytes.begin));
      };
      Buffers slices = buffers;
      slices.x = part(buffers.x, x_bytes_of(*plan, s.x));
      slices.scale = part(buffers.scale, bytes_of(plan->scale, s.scale));
      slices.zero_point = part(buffers.zero_point, zero_point_bytes_of(*plan, s.zero_point));
      slices.group_index = part(buffers.group_index, bytes_of(Element::int32, s.group_index));
      slices.y = part(std::span(banded), bytes_of(plan->output, s.y));
      ASSERT_TRUE(succeeds(run_range(*plan, band, slices)));
    }
    ASSERT_NO_FATAL_FAILURE(check(banded, target));
  }
}

class CheckpointGoldens : public ::testing::Test {
 protected:
  void SetUp() override {
    if (fs::is_directory(checkpoints())) return;
    GTEST_SKIP() << "SHARED FILES MISSING: " << checkpoints() << " is no folder";
  }
};

/// [rows, columns] of packed codes in groups along the columns.
inline std::vector<Dimension> grouped(int64_t rows, int64_t columns, int64_t group) {
  return {{.size = rows, .x = columns, .scale = columns / group, .y = columns},
          {.size = columns, .x = 1, .scale = 1, .y = 1, .block = group}};
}

}  // namespace dequant::testing
