// The kernel tables of the targets, built once for each process, and the choice of the active
// target.
#include "kernel/targets.h"

#include <array>
#include <atomic>
#include <cstdlib>

#include "dequant/isa.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernel/processor.h"
#include "kernel/reference_kernels.h"
#include "text.h"

namespace dequant {
namespace {

struct Target {
  std::string_view name;
  int64_t highway;       ///< 0: the reference
  bool float16 = false;  ///< true: has kernels that compute in float16
};

// Best first.
constexpr std::array kKnown{
    Target{"avx512_fp16", HWY_AVX3_DL, true},
    Target{"avx512_bf16", HWY_AVX3_DL},
    Target{"avx512", HWY_AVX3},
    Target{"avx2", HWY_AVX2},
    Target{"sse4", HWY_SSE4},
    Target{"neon", HWY_NEON},
    Target{"reference", 0},
};

/// The targets that this processor can run, with their tables. Only the active target changes after
/// construction.
class Registry {
 public:
  Registry() {
    const int64_t supported = processor_targets() & HWY_TARGETS;
    for (const Target& t : kKnown) {
      if (t.highway != 0 && (supported & t.highway) == 0) continue;
      if (t.float16 && !computes_float16()) continue;
      Table& table = tables_[count_];
      fill_reference_kernels(table);
      if (t.highway != 0) {
        fill_int_kernels(t.highway, table);
        fill_subbyte_kernels(t.highway, table);
        fill_float_kernels(t.highway, table);
        fill_range_kernels(t.highway, table);
        fill_helpers(t.highway, table);
        fill_unpacking(t.highway, table);
        fill_results(t.highway, table);
        fill_lookups(t.highway, table);
        fill_codebook_kernels(t.highway, table);
        fill_block_kernels(t.highway, table);
        fill_transposes(t.highway, table);
      }
      if (t.highway == HWY_AVX3_DL) fill_bfloat16_kernels(table);
      if (t.float16) fill_float16_kernels(table);
      names_[count_++] = t.name;
    }
    const char* forced = std::getenv("DEQUANT_FORCE_TARGET");
    if (forced != nullptr) active_ = find(forced).value_or(0);
  }

  std::span<const std::string_view> names() const { return {names_.data(), count_}; }
  std::optional<size_t> find(std::string_view name) const {
    for (size_t i = 0; i < count_; ++i) {
      if (names_[i] == name) return i;
    }
    return std::nullopt;
  }
  const Table& table(size_t i) const { return tables_[i]; }
  size_t active() const { return active_.load(std::memory_order_relaxed); }
  void activate(size_t i) { active_.store(i, std::memory_order_relaxed); }

 private:
  std::array<Table, kKnown.size()> tables_{};
  std::array<std::string_view, kKnown.size()> names_{};
  size_t count_ = 0;
  std::atomic<size_t> active_{0};
};

Registry& registry() {
  static Registry instance;
  return instance;
}

/// Constructs the registry when the library is loaded. If a first call constructed it, a fork
/// during the construction would leave a child that waits for the construction forever.
[[maybe_unused]] const Registry& constructed_on_load = registry();

}  // namespace

const Table& active_table() noexcept { return registry().table(registry().active()); }

const Table* table_of(std::string_view target) noexcept {
  const auto i = registry().find(target);
  return i ? &registry().table(*i) : nullptr;
}

void flush_streams() noexcept { hwy::FlushStream(); }

std::span<const std::string_view> targets() noexcept { return registry().names(); }

std::string_view active_target() noexcept { return registry().names()[registry().active()]; }

Status force_target(std::string_view name) {
  const auto i = registry().find(name);
  if (!i) {
    std::string known;
    for (const auto t : targets()) known += concat(known.empty() ? "" : ", ", t);
    return invalid("target: \"", name, "\" is not one of ", known);
  }
  registry().activate(*i);
  return {};
}

}  // namespace dequant
