// Calling one kernel on guarded memory, and comparing all of the memory with the reference's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "dequant/isa.h"
#include "element/codes.h"
#include "kernel/lut.h"
#include "kernel/targets.h"
#include "support/float_bits.h"
#include "support/guarded_buffer.h"
#include "support/print.h"
#include "support/random.h"

namespace dequant::testing {

/// The arithmetic of a kernel.
enum class Arithmetic { scale, range, formula };

/// One kernel of one target.
struct Entry {
  std::string_view target;
  KernelFn kernel;
  KernelFn reference;
  Element x;
  Element y;
  ScaleLayout scale_layout;
  Arithmetic arithmetic = Arithmetic::scale;
};

inline std::string to_string(const Entry& e) {
  const char* kind = e.arithmetic == Arithmetic::scale   ? ""
                     : e.arithmetic == Arithmetic::range ? " of ranges"
                                                         : " of a formula";
  return std::string(e.target) + " " + std::string(name(e.x)) + " to " + std::string(name(e.y)) +
         (e.scale_layout == ScaleLayout::per_group ? " per group" : " per element") + kind;
}

/// Every kernel of a table.
inline std::vector<Entry> entries_of(std::string_view target) {
  std::vector<Entry> entries;
  const Table& table = *table_of(target);
  const Table& reference = *table_of("reference");
  for (const Element y : kOutputElements) {
    for (const ScaleLayout scale_layout : {ScaleLayout::per_group, ScaleLayout::per_element}) {
      for (const Element x : elements().first(kInputs)) {
        entries.push_back({target, table.at(x, y, scale_layout), reference.at(x, y, scale_layout),
                           x, y, scale_layout});
      }
      for (const Element x : kRangeElements) {
        entries.push_back({target, table.range_at(x, y, scale_layout),
                           reference.range_at(x, y, scale_layout), x, y, scale_layout,
                           Arithmetic::range});
      }
    }
  }
  for (const Element x : kRangeElements) {
    entries.push_back({target, table.formula_at(x), reference.formula_at(x), x, Element::float32,
                       ScaleLayout::per_group, Arithmetic::formula});
  }
  return entries;
}

/// Every kernel of every target but the reference itself.
inline std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  for (const std::string_view target : targets()) {
    if (target == "reference") continue;
    for (const Entry& e : entries_of(target)) entries.push_back(e);
  }
  return entries;
}

/// Sizes and alignments of the data of one call of a kernel.
struct CallData {
  size_t count = 1;
  size_t group = 1;  ///< of ScaleLayout::per_group
  size_t x_offset = 0;
  size_t y_offset = 0;
  bool at_end =
      false;  ///< x and y end at their guard page; otherwise they start `offset` after one
  bool stream = false;
};

/// The smallest group not below `group` whose codes fill whole bytes.
inline size_t whole_byte_group(Element x, size_t group) {
  const size_t step = 8 / std::gcd(size_t{8}, static_cast<size_t>(bits(x)));
  return (group + step - 1) / step * step;
}

/// A zero point of x's type in the form that kernels take: an extreme of the type or anything
/// within.
inline int32_t random_zero(Random& random, Element x) {
  if (kind(x) == Kind::floating) return 0;
  const bool is_signed = kind(x) == Kind::signed_integer;
  const int64_t codes = int64_t{1} << bits(x);
  const int64_t low = is_signed ? -codes / 2 : 0;
  const int64_t high = low + codes - 1;
  const int64_t list[] = {low, high, 0, random.in(low, high), random.in(low, high)};
  return static_cast<int32_t>(static_cast<uint32_t>(list[random.in(0, 4)]));
}

/// Any affine formula: numbers of every size, special ones among them.
inline AffineFormula random_formula(Random& random, Element x) {
  const auto number = [&] {
    return random.coin() ? static_cast<double>(float_of(random_scale(random)))
                         : std::bit_cast<double>(random.bits());
  };
  return {random_zero(random, x), number(), number(), number()};
}

/// The value of KernelArgs::finite_normal for these scales or offsets.
inline bool all_finite_normal(Element x, const float* values, size_t count) {
  return std::all_of(values, values + count,
                     [&](float v) { return is_finite_normal(v, !has_infinity(x)); });
}

/// The number of an output's element that is nearest to a scale.
inline float nearest(Element y, float scale) { return float_value(y, reference_narrow(y, scale)); }

/// The value of KernelArgs::scales_of_y for these scales.
inline bool all_of_y(Element y, const float* values, size_t count) {
  return std::all_of(values, values + count,
                     [&](float v) { return bits_of(nearest(y, v)) == bits_of(v); });
}

/// Buffers for kernels that compute up to `max_count` elements.
class KernelCheck {
 public:
  explicit KernelCheck(size_t max_count, uint64_t seed = 1)
      : random_(seed),
        x_(max_count * 4 + 64),
        y_(max_count * 4 + 64),
        want_(max_count * 4 + 64),
        scale_(max_count * 4),
        zero_(max_count * 4),
        offset_(max_count * 4),
        scale16_((max_count + Helpers::kNarrowSlack) * 2),
        zero16_((max_count + Helpers::kNarrowSlack) * 2) {}

  /// Runs the kernel and the reference on random data; true if all bytes in and around y agree.
  bool agrees(const Entry& e, const CallData& p) {
    const size_t params =
        e.scale_layout == ScaleLayout::per_group ? (p.count + p.group - 1) / p.group : p.count;
    const size_t x_bytes = (p.count * static_cast<size_t>(bits(e.x)) + 7) / 8;
    const size_t y_bytes = p.count * static_cast<size_t>(bits(e.y)) / 8;

    uint8_t* x = p.at_end ? x_.before_end(x_bytes) : x_.begin() + p.x_offset;
    const size_t y_at = p.at_end ? y_.capacity() - y_bytes : p.y_offset;
    for (size_t i = 0; i < x_bytes; ++i) x[i] = static_cast<uint8_t>(random_.bits());
    auto* scale = reinterpret_cast<float*>(scale_.before_end(params * 4));
    auto* zero = reinterpret_cast<int32_t*>(zero_.before_end(params * 4));
    auto* offset = reinterpret_cast<float*>(offset_.before_end(params * 4));
    const bool finite_normal = random_.coin();
    const bool of_y = random_.coin();
    for (size_t i = 0; i < params; ++i) {
      scale[i] = finite_normal ? finite_normal_scale(e.x) : float_of(random_scale(random_));
      if (of_y) scale[i] = nearest(e.y, scale[i]);
      zero[i] = random_zero(random_, e.x);
      offset[i] = finite_normal ? finite_normal_scale(e.x) : float_of(random_scale(random_));
    }
    const AffineFormula formula = random_formula(random_, e.x);

    y_.fill(kUntouched);
    want_.fill(kUntouched);
    KernelArgs args{x, y_.begin() + y_at, p.count, p.group, scale, zero, lut_of(e.x), p.stream};
    args.finite_normal = all_finite_normal(e.x, scale, params);
    args.scales_of_y = all_of_y(e.y, scale, params);
    if (e.arithmetic == Arithmetic::range) {
      std::fill_n(zero, params, *zero);
      args.offset = offset;
      args.finite_normal = args.finite_normal && all_finite_normal(e.x, offset, params);
    }
    if (e.arithmetic == Arithmetic::formula) args.formula = &formula;
    narrow(e, params, args);
    e.kernel(args);
    flush_streams();
    args.y = want_.begin() + y_at;
    e.reference(args);
    return std::memcmp(y_.begin(), want_.begin(), y_.capacity()) == 0;
  }

  Random& random() { return random_; }

 private:
  /// A finite and normal scale of any size, sign and mantissa; now and then zero.
  float finite_normal_scale(Element x) {
    for (;;) {
      const bool small = random_.coin();
      const auto bits = small ? 0x3C000000 + random_.bits() % 0x02000000 : random_.bits();
      const float value = random_.in(0, 19) == 0 ? 0.0F : float_of(static_cast<uint32_t>(bits));
      const float signed_value = random_.coin() ? value : -value;
      if (is_finite_normal(signed_value, !has_infinity(x))) return signed_value;
    }
  }

  /// Now and then also gives the kernel its parameters in 16 bits, if the kernel can use these.
  void narrow(const Entry& e, size_t params, KernelArgs& args) {
    const auto narrow = table_of(e.target)->helpers.narrow;
    const bool can_use = narrow != nullptr && e.scale_layout == ScaleLayout::per_element &&
                         e.y == Element::float16 && e.arithmetic == Arithmetic::scale &&
                         bits(e.x) <= 8;
    if (!can_use || !args.finite_normal || !args.scales_of_y || random_.coin()) return;
    const size_t bytes = (params + Helpers::kNarrowSlack) * 2;
    auto* scale = reinterpret_cast<uint16_t*>(scale16_.before_end(bytes));
    auto* zero = reinterpret_cast<int16_t*>(zero16_.before_end(bytes));
    narrow(args.scale, args.zero, params, scale, zero);
    args.scale16 = scale;
    args.zero16 = zero;
  }

  static constexpr uint8_t kUntouched = 0xA5;

  Random random_;
  GuardedBuffer x_;
  GuardedBuffer y_;
  GuardedBuffer want_;
  GuardedBuffer scale_;
  GuardedBuffer zero_;
  GuardedBuffer offset_;
  GuardedBuffer scale16_;
  GuardedBuffer zero16_;
};

}  // namespace dequant::testing
