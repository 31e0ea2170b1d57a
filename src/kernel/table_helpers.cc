// The Helpers of the kernel table, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_helpers.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/special_values.h"
#include "kernel/widen-inl.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

bool AllFiniteNormal(const float* values, size_t count, bool zero_too) {
  const size_t lanes = hn::Lanes(DU());
  if (count < lanes) {
    for (size_t i = 0; i < count; ++i) {
      if (!is_finite_normal(values[i], zero_too)) return false;
    }
    return true;
  }
  // Doubling the bits drops the sign. Where zero is allowed, one is subtracted before the minimum,
  // so that zero becomes the largest word.
  auto smallest = hn::Set(DU(), 0xFFFFFFFF);
  auto largest = hn::Zero(DU());
  const auto below = hn::Set(DU(), zero_too ? 1 : 0);
  const auto accumulate = [&](size_t i) DEQUANT_ATTR {
    const auto bits = hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(values + i));
    const auto twice = hn::Add(bits, bits);
    smallest = hn::Min(smallest, hn::Sub(twice, below));
    largest = hn::Max(largest, twice);
  };
  for (size_t i = 0; i + lanes <= count; i += lanes) accumulate(i);
  // The last vector overlaps the vector before it.
  accumulate(count - lanes);
  const auto bad = hn::Or(hn::Lt(smallest, hn::Sub(hn::Set(DU(), 2 * kLeastFiniteNormal), below)),
                          hn::Not(hn::Lt(largest, hn::Set(DU(), 2 * uint32_t{0x7F800000}))));
  return hn::AllFalse(DU(), bad);
}

/// Finds the group of an element by a multiplication with the reciprocal, so that one vector does
/// not wait for the result of the vector before it.
struct GroupDivider {
  uint32_t group;
  uint32_t reciprocal;

  /// The reciprocal is 2^32 / length, rounded up; length must be 2 or more, as 2^32 does not fit.
  /// For elements below 2^15 and lengths of at most 2^14, the error of the quotient is below
  /// 2^15 * 2^-32, less than 1 / length: too little to change the integer part.
  explicit HWY_INLINE GroupDivider(size_t length)
      : group(static_cast<uint32_t>(length)), reciprocal(0xFFFFFFFFU / group + 1) {}
  HWY_INLINE uint32_t GroupOf(size_t element) const {
    return static_cast<uint32_t>(element * reciprocal >> 32);
  }
};

/// The Helpers::Spread of kParams parameters, copied to local variables, which the compiler can
/// keep in registers: to the compiler, the stores of Repeat() could overwrite the originals.
template <size_t kParams>
struct Spreads {
  const uint32_t* values[kParams];
  uint32_t* out[kParams];

  explicit HWY_INLINE Spreads(const Helpers::Spread* params) {
    for (size_t s = 0; s < kParams; ++s) values[s] = params[s].values, out[s] = params[s].out;
  }
};

/// Helpers::repeat for groups of a vector or more: a vector holds one value, or two.
template <size_t kParams>
void RepeatLong(const Helpers::Spread* params, size_t group, size_t skip, size_t count) {
  const Spreads<kParams> spread(params);
  const size_t lanes = hn::Lanes(DU());
  // A group longer than kMostRepeated is shortened, as `count` is at most kMostRepeated.
  const size_t rest = HWY_MIN(group - skip, Helpers::kMostRepeated);
  group = HWY_MIN(group, Helpers::kMostRepeated);
  skip = group - rest;
  const GroupDivider divider(group);
  const size_t last = divider.GroupOf(skip + count - 1);
  const auto lane = hn::Iota(DI(), 0);
  for (size_t i = 0; i < count;) {
    const size_t k = divider.GroupOf(skip + i);
    const size_t border = (k + 1) * group - (skip + i);
    if (border >= Step() && i + Step() <= count) {
      for (size_t s = 0; s < kParams; ++s) {
        const auto value = hn::Set(DU(), spread.values[s][k]);
        for (size_t q = 0; q < kStepVectors; ++q)
          hn::StoreU(value, DU(), spread.out[s] + i + q * lanes);
      }
      i += Step();
      continue;
    }
    const size_t next = HWY_MIN(k + 1, last);
    const auto first =
        hn::RebindMask(DU(), hn::Lt(lane, hn::Set(DI(), static_cast<int32_t>(border))));
    for (size_t s = 0; s < kParams; ++s) {
      const uint32_t* values = spread.values[s];
      const auto both =
          hn::IfThenElse(first, hn::Set(DU(), values[k]), hn::Set(DU(), values[next]));
      hn::StoreU(both, DU(), spread.out[s] + i);
    }
    i += lanes;
  }
}

/// Helpers::repeat for groups shorter than a vector. A vector of values, loaded from the first that
/// is needed, has the values of all lanes; lanes select from it by indices. The indices repeat
/// after a period: `period` vectors with the values of `values_of_period` groups.
template <size_t kParams>
void RepeatShort(const Helpers::Spread* params, size_t group, size_t skip, size_t count) {
  Spreads<kParams> spread(params);
  const size_t lanes = hn::Lanes(DU());
  // The greatest common divisor of lanes, a power of two, and group, which is smaller.
  const size_t common = group & (0 - group);
  const size_t period = group / common;
  const size_t values_of_period = lanes / common;
  const GroupDivider divider(group);
  // The index of a lane is the quotient of its distance from the start of the group and `group`, in
  // float. 0.5 is added to the distance, so that rounding cannot change the integer part. The
  // arrays are larger than the longest period, so that compilers do not unroll the loops.
  constexpr size_t kRoom = 32;
  decltype(hn::IndicesFromVec(DU(), hn::Zero(DI()))) index[kRoom];
  size_t start[kRoom];
  const auto middle = hn::Add(hn::Iota(DF(), 0), hn::Set(DF(), 0.5F));
  const auto step = hn::Set(DF(), 1.0F / static_cast<float>(group));
  for (size_t v = 0; v < period; ++v) {
    start[v] = divider.GroupOf(skip + v * lanes);
    const auto past = static_cast<float>(skip + v * lanes - start[v] * group);
    const auto at = hn::Add(middle, hn::Set(DF(), past));
    index[v] = hn::IndicesFromVec(DU(), hn::ConvertTo(DI(), hn::Mul(at, step)));
  }
  const auto one_period = [&](size_t vectors) DEQUANT_ATTR {
    for (size_t v = 0; v < vectors; ++v) {
      for (size_t s = 0; s < kParams; ++s) {
        const auto table = hn::LoadU(DU(), spread.values[s] + start[v]);
        hn::StoreU(hn::TableLookupLanes(table, index[v]), DU(), spread.out[s] + v * lanes);
      }
    }
    for (size_t s = 0; s < kParams; ++s) {
      spread.values[s] += values_of_period;
      spread.out[s] += period * lanes;
    }
  };
  size_t left = (count + lanes - 1) / lanes;
  size_t values = divider.GroupOf(skip + count - 1) + 1;
  for (; left >= period && values >= values_of_period + lanes; left -= period) {
    one_period(period);
    values -= values_of_period;
  }
  // A vector of values that could end after the last value is loaded from a padded copy.
  alignas(64) uint32_t padding[kParams][4 * kMaxLanes];
  for (size_t s = 0; s < kParams; ++s) {
    copy_padded(spread.values[s], values * sizeof(uint32_t), padding[s], sizeof padding[s]);
    spread.values[s] = padding[s];
  }
  for (; left > period; left -= period) one_period(period);
  one_period(left);
}

template <size_t kParams>
void RepeatEach(const Helpers::Spread* params, size_t group, size_t skip, size_t count) {
  if (group < hn::Lanes(DU())) return RepeatShort<kParams>(params, group, skip, count);
  RepeatLong<kParams>(params, group, skip, count);
}

void Repeat(const Helpers::Spread* params, size_t how_many, size_t group, size_t skip,
            size_t count) {
  static_assert(Helpers::kSlack >= kMaxLanes);
  how_many == 1 ? RepeatEach<1>(params, group, skip, count)
                : RepeatEach<2>(params, group, skip, count);
}

/// Helpers::widen of a decoder.
template <class In>
void Widen(const uint8_t* from, size_t count, int32_t* to) {
  const In in(nullptr);
  const auto step = [&](const uint8_t* p, int32_t* out) DEQUANT_ATTR {
    VI codes[kStepVectors];
    in.Decode(p, codes);
    for (size_t q = 0; q < kStepVectors; ++q) hn::StoreU(codes[q], DI(), out + q * hn::Lanes(DI()));
  };
  size_t i = 0;
  for (; i + Step() <= count; i += Step()) step(from + i * In::kBits / 8, to + i);
  if (i == count) return;
  alignas(64) uint8_t codes[kMaxStep * In::kBits / 8];
  alignas(64) int32_t numbers[kMaxStep];
  copy_padded(from + i * In::kBits / 8, ((count - i) * In::kBits + 7) / 8, codes, sizeof codes);
  step(codes, numbers);
  copy_bytes(numbers, 4 * (count - i), to + i);
}

/// Converts 16-bit codes to float32, a vector at a time, by value(codes). The remainder is
/// converted in padded copies.
template <class Value>
void WidenPairs(const uint8_t* from, size_t count, float* to, const Value& value) {
  const hn::Rebind<uint16_t, DF> d;
  const size_t lanes = hn::Lanes(DF());
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto codes = hn::LoadU(d, reinterpret_cast<const uint16_t*>(from + 2 * i));
    hn::StoreU(value(codes), DF(), to + i);
  }
  if (i == count) return;
  alignas(64) uint16_t codes[kMaxLanes];
  alignas(64) float values[kMaxLanes];
  copy_padded(from + 2 * i, 2 * (count - i), codes, sizeof codes);
  hn::Store(value(hn::Load(d, codes)), DF(), values);
  copy_bytes(values, 4 * (count - i), to + i);
}

void WidenFloat16s(const uint8_t* from, size_t count, float* to) {
  WidenPairs(from, count, to, [](auto codes) DEQUANT_ATTR { return WidenFloat16(codes); });
}

void WidenBfloat16s(const uint8_t* from, size_t count, float* to) {
  WidenPairs(from, count, to, [](auto codes) DEQUANT_ATTR { return WidenBfloat16(codes); });
}

void Stream(const uint8_t* from, uint8_t* to, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t head =
      HWY_MIN((kCacheLine - reinterpret_cast<uintptr_t>(to) % kCacheLine) % kCacheLine, bytes);
  copy_bytes(from, head, to);
  size_t i = head;
  for (; i + kCacheLine <= bytes; i += kCacheLine) {
    for (size_t k = 0; k < kCacheLine; k += hn::Lanes(d)) {
      hn::Stream(hn::LoadU(d, from + i + k), d, to + i + k);
    }
  }
  copy_bytes(from + i, bytes - i, to + i);
}

}  // namespace

void FillHelpers(Table& table) {
  table.lanes = hn::Lanes(DF());
  Helpers& helpers = table.helpers;
  helpers.all_finite_normal = AllFiniteNormal;
  helpers.repeat = Repeat;
  helpers.widen_float16 = WidenFloat16s;
  helpers.widen_bfloat16 = WidenBfloat16s;
  helpers.stream = Stream;
  const auto widen = [&](Element x) -> auto& { return helpers.widen[static_cast<size_t>(x)]; };
  widen(Element::uint8) = Widen<Whole<uint8_t>>;
  widen(Element::int8) = Widen<Whole<int8_t>>;
  widen(Element::uint16) = Widen<Whole<uint16_t>>;
  widen(Element::int16) = Widen<Whole<int16_t>>;
  widen(Element::uint4) = Widen<Packed<Nibbles, false>>;
  widen(Element::int4) = Widen<Packed<Nibbles, true>>;
  widen(Element::uint2) = Widen<Packed<Pairs, false>>;
  widen(Element::int2) = Widen<Packed<Pairs, true>>;
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#else
namespace dequant::HWY_NAMESPACE {
void FillHelpers(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_helpers(int64_t target, Table& table) { DEQUANT_FILL(target, FillHelpers, table); }
}  // namespace dequant
#endif
