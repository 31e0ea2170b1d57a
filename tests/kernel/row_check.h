// Calling one row of the kernel table on guarded memory and comparing all of it with the reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
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

/// What a row computes.
enum class Arithmetic { scale, range, line };

/// One row of one target.
struct Entry {
  std::string_view target;
  RowFn row;
  RowFn reference;
  Element x;
  Element y;
  Leaf leaf;
  Arithmetic arithmetic = Arithmetic::scale;
};

inline std::string to_string(const Entry& e) {
  const char* kind = e.arithmetic == Arithmetic::scale   ? ""
                     : e.arithmetic == Arithmetic::range ? " of ranges"
                                                         : " of a line";
  return std::string(e.target) + " " + std::string(name(e.x)) + " to " + std::string(name(e.y)) +
         (e.leaf == Leaf::runs ? " by runs" : " varying") + kind;
}

/// Every row of a table.
inline std::vector<Entry> entries_of(std::string_view target) {
  std::vector<Entry> entries;
  const Table& table = *table_of(target);
  const Table& reference = *table_of("reference");
  for (const Element y : kOutputElements) {
    for (const Leaf leaf : {Leaf::runs, Leaf::varying}) {
      for (const Element x : elements().first(kInputs)) {
        entries.push_back({target, table.at(x, y, leaf), reference.at(x, y, leaf), x, y, leaf});
      }
      for (const Element x : kRangeElements) {
        entries.push_back({target, table.range_at(x, y, leaf), reference.range_at(x, y, leaf), x, y,
                           leaf, Arithmetic::range});
      }
    }
  }
  for (const Element x : kRangeElements) {
    entries.push_back({target, table.line_at(x), reference.line_at(x), x, Element::float32,
                       Leaf::runs, Arithmetic::line});
  }
  return entries;
}

/// Every row of every target but the reference itself.
inline std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  for (const std::string_view target : targets()) {
    if (target == "reference") continue;
    for (const Entry& e : entries_of(target)) entries.push_back(e);
  }
  return entries;
}

/// Where the data of a call lies, and how it is cut into runs.
struct Placement {
  size_t count = 1;
  size_t run = 1;  ///< of Leaf::runs
  size_t x_offset = 0;
  size_t y_offset = 0;
  bool at_end =
      false;  ///< x and y end at their guard page; otherwise they start `offset` after one
  bool stream = false;
};

/// The smallest run not below `run` that fills whole bytes.
inline size_t whole_byte_run(Element x, size_t run) {
  const size_t step = bits(x) < 8 ? 8 / static_cast<size_t>(bits(x)) : 1;
  return (run + step - 1) / step * step;
}

/// A zero point of x's type in the form rows take: an extreme of the type or anything within.
inline int32_t random_zero(Random& random, Element x) {
  if (kind(x) == Kind::floating) return 0;
  const bool is_signed = kind(x) == Kind::signed_integer;
  const int64_t codes = int64_t{1} << bits(x);
  const int64_t low = is_signed ? -codes / 2 : 0;
  const int64_t high = low + codes - 1;
  const int64_t list[] = {low, high, 0, random.in(low, high), random.in(low, high)};
  return static_cast<int32_t>(static_cast<uint32_t>(list[random.in(0, 4)]));
}

/// Any line: numbers of every size, special ones among them.
inline Line random_line(Random& random, Element x) {
  const auto number = [&] {
    return random.coin() ? static_cast<double>(float_of(random_scale(random)))
                         : std::bit_cast<double>(random.bits());
  };
  return {random_zero(random, x), number(), number(), number()};
}

/// What RowArgs::plain says of these scales or offsets.
inline bool all_plain(Element x, const float* values, size_t count) {
  return std::all_of(values, values + count,
                     [&](float v) { return is_plain(v, !has_infinity(x)); });
}

/// The number of an output's element that is nearest to a scale.
inline float nearest(Element y, float scale) { return float_value(y, reference_narrow(y, scale)); }

/// What RowArgs::scales_of_y says of these scales.
inline bool all_of_y(Element y, const float* values, size_t count) {
  return std::all_of(values, values + count,
                     [&](float v) { return bits_of(nearest(y, v)) == bits_of(v); });
}

/// Buffers for rows of up to `max_count` elements.
class RowCheck {
 public:
  explicit RowCheck(size_t max_count, uint64_t seed = 1)
      : random_(seed),
        x_(max_count * 4 + 64),
        y_(max_count * 4 + 64),
        want_(max_count * 4 + 64),
        scale_(max_count * 4),
        zero_(max_count * 4),
        offset_(max_count * 4),
        scale16_((max_count + Moves::kNarrowSlack) * 2),
        zero16_((max_count + Moves::kNarrowSlack) * 2) {}

  /// Runs the row and the reference on random data; true if all bytes in and around y agree.
  bool agrees(const Entry& e, const Placement& p) {
    const size_t sides = e.leaf == Leaf::runs ? (p.count + p.run - 1) / p.run : p.count;
    const size_t x_bytes = (p.count * static_cast<size_t>(bits(e.x)) + 7) / 8;
    const size_t y_bytes = p.count * static_cast<size_t>(bits(e.y)) / 8;

    uint8_t* x = p.at_end ? x_.before_end(x_bytes) : x_.begin() + p.x_offset;
    const size_t y_at = p.at_end ? y_.capacity() - y_bytes : p.y_offset;
    for (size_t i = 0; i < x_bytes; ++i) x[i] = static_cast<uint8_t>(random_.bits());
    auto* scale = reinterpret_cast<float*>(scale_.before_end(sides * 4));
    auto* zero = reinterpret_cast<int32_t*>(zero_.before_end(sides * 4));
    auto* offset = reinterpret_cast<float*>(offset_.before_end(sides * 4));
    const bool plain = random_.coin();
    const bool of_y = random_.coin();
    for (size_t i = 0; i < sides; ++i) {
      scale[i] = plain ? plain_scale(e.x) : float_of(random_scale(random_));
      if (of_y) scale[i] = nearest(e.y, scale[i]);
      zero[i] = random_zero(random_, e.x);
      offset[i] = plain ? plain_scale(e.x) : float_of(random_scale(random_));
    }
    const Line line = random_line(random_, e.x);

    y_.fill(kUntouched);
    want_.fill(kUntouched);
    RowArgs args{x, y_.begin() + y_at, p.count, p.run, scale, zero, lut_of(e.x), p.stream};
    args.plain = all_plain(e.x, scale, sides);
    args.scales_of_y = all_of_y(e.y, scale, sides);
    if (e.arithmetic == Arithmetic::range) {
      std::fill_n(zero, sides, *zero);
      args.offset = offset;
      args.plain = args.plain && all_plain(e.x, offset, sides);
    }
    if (e.arithmetic == Arithmetic::line) args.line = &line;
    narrow(e, sides, args);
    e.row(args);
    flush_streams();
    args.y = want_.begin() + y_at;
    e.reference(args);
    return std::memcmp(y_.begin(), want_.begin(), y_.capacity()) == 0;
  }

  Random& random() { return random_; }

 private:
  /// Of any size, sign and mantissa that is plain; now and then zero.
  float plain_scale(Element x) {
    for (;;) {
      const bool small = random_.coin();
      const auto bits = small ? 0x3C000000 + random_.bits() % 0x02000000 : random_.bits();
      const float value = random_.in(0, 19) == 0 ? 0.0F : float_of(static_cast<uint32_t>(bits));
      const float signed_value = random_.coin() ? value : -value;
      if (is_plain(signed_value, !has_infinity(x))) return signed_value;
    }
  }

  /// Now and then gives a row its sides in 16 bits as well, if it takes them.
  void narrow(const Entry& e, size_t sides, RowArgs& args) {
    const auto narrow = table_of(e.target)->moves.narrow;
    const bool takes = narrow != nullptr && e.leaf == Leaf::varying && e.y == Element::float16 &&
                       e.arithmetic == Arithmetic::scale && bits(e.x) <= 8;
    if (!takes || !args.plain || !args.scales_of_y || random_.coin()) return;
    const size_t bytes = (sides + Moves::kNarrowSlack) * 2;
    auto* scale = reinterpret_cast<uint16_t*>(scale16_.before_end(bytes));
    auto* zero = reinterpret_cast<int16_t*>(zero16_.before_end(bytes));
    narrow(args.scale, args.zero, sides, scale, zero);
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
