// What else the way to a row takes, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_helpers.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/decode_packed-inl.h"
#include "kernel/special_values.h"

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
  // Twice the magnitudes: a sum drops the sign. Zeros that count as finite and normal become the
  // largest number there is, one below zero, before the smallest is taken.
  auto smallest = hn::Set(DU(), 0xFFFFFFFF);
  auto largest = hn::Zero(DU());
  const auto below = hn::Set(DU(), zero_too ? 1 : 0);
  const auto look = [&](size_t i) DEQUANT_ATTR {
    const auto bits = hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(values + i));
    const auto twice = hn::Add(bits, bits);
    smallest = hn::Min(smallest, hn::Sub(twice, below));
    largest = hn::Max(largest, twice);
  };
  for (size_t i = 0; i + lanes <= count; i += lanes) look(i);
  // The last ones, together with some that were looked at already.
  look(count - lanes);
  const auto bad = hn::Or(hn::Lt(smallest, hn::Sub(hn::Set(DU(), 2 * kLeastFiniteNormal), below)),
                          hn::Not(hn::Lt(largest, hn::Set(DU(), 2 * uint32_t{0x7F800000}))));
  return hn::AllFalse(DU(), bad);
}

/// Which group an element lies in and how far, by a multiplication: vectors do not wait for each
/// other.
struct Place {
  uint32_t group;
  uint32_t reciprocal;

  /// Groups and elements below 2^15 make 2^32 / group exact enough.
  explicit HWY_INLINE Place(size_t length)
      : group(static_cast<uint32_t>(length)), reciprocal(0xFFFFFFFFU / group + 1) {}
  HWY_INLINE uint32_t Run(size_t element) const {
    return static_cast<uint32_t>(element * reciprocal >> 32);
  }
};

/// Parameters in registers: the stores of Repeat() might as well write what they are stored in.
template <size_t kParams>
struct Spreads {
  const uint32_t* values[kParams];
  uint32_t* out[kParams];

  explicit HWY_INLINE Spreads(const Helpers::Spread* params) {
    for (size_t s = 0; s < kParams; ++s) values[s] = params[s].values, out[s] = params[s].out;
  }
};

/// Groups of a vector or more: a vector holds one value, or two of which the second begins at a
/// lane.
template <size_t kParams>
void RepeatLong(const Helpers::Spread* params, size_t group, size_t into, size_t count) {
  const Spreads<kParams> spread(params);
  const size_t lanes = hn::Lanes(DU());
  // One that ends behind all elements might as well end sooner.
  const size_t rest = HWY_MIN(group - into, Helpers::kMostRepeated);
  group = HWY_MIN(group, Helpers::kMostRepeated);
  into = group - rest;
  const Place place(group);
  const size_t last = place.Run(into + count - 1);
  const auto lane = hn::Iota(DI(), 0);
  for (size_t i = 0; i < count;) {
    const size_t k = place.Run(into + i);
    const size_t border = (k + 1) * group - (into + i);
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

/// Shorter ones: a vector holds all that the next vector repeats. After a period of vectors, lanes
/// take their values in the same way again.
template <size_t kParams>
void RepeatShort(const Helpers::Spread* params, size_t group, size_t into, size_t count) {
  Spreads<kParams> spread(params);
  const size_t lanes = hn::Lanes(DU());
  const size_t common =
      group & (0 - group);  // the greatest divisor that lanes and group have in common
  const size_t period = group / common;
  const size_t values_of_period = lanes / common;
  const Place place(group);
  // Lane i takes the (into + i) / group-th value; half a step up, so that rounding never matters.
  // Room for more than there are: else compilers write the loops out.
  constexpr size_t kRoom = 32;
  decltype(hn::IndicesFromVec(DU(), hn::Zero(DI()))) index[kRoom];
  size_t start[kRoom];
  const auto middle = hn::Add(hn::Iota(DF(), 0), hn::Set(DF(), 0.5F));
  const auto step = hn::Set(DF(), 1.0F / static_cast<float>(group));
  for (size_t v = 0; v < period; ++v) {
    start[v] = place.Run(into + v * lanes);
    const auto past = static_cast<float>(into + v * lanes - start[v] * group);
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
  size_t values = place.Run(into + count - 1) + 1;
  for (; left >= period && values >= values_of_period + lanes; left -= period) {
    one_period(period);
    values -= values_of_period;
  }
  // Vectors of values that might reach beyond the last one are taken from a copy.
  alignas(64) uint32_t padding[kParams][4 * kMaxLanes];
  for (size_t s = 0; s < kParams; ++s) {
    copy_padded(spread.values[s], values * sizeof(uint32_t), padding[s], sizeof padding[s]);
    spread.values[s] = padding[s];
  }
  for (; left > period; left -= period) one_period(period);
  one_period(left);
}

template <size_t kParams>
void RepeatEach(const Helpers::Spread* params, size_t group, size_t into, size_t count) {
  if (group < hn::Lanes(DU())) return RepeatShort<kParams>(params, group, into, count);
  RepeatLong<kParams>(params, group, into, count);
}

void Repeat(const Helpers::Spread* params, size_t how_many, size_t group, size_t into,
            size_t count) {
  static_assert(Helpers::kSlack >= kMaxLanes);
  how_many == 1 ? RepeatEach<1>(params, group, into, count)
                : RepeatEach<2>(params, group, into, count);
}

template <class In>
void Widen(const uint8_t* from, size_t count, int32_t* to) {
  const In in(nullptr);
  const auto group = [&](const uint8_t* p, int32_t* out) DEQUANT_ATTR {
    VI codes[kStepVectors];
    in.Decode(p, codes);
    for (size_t q = 0; q < kStepVectors; ++q) hn::StoreU(codes[q], DI(), out + q * hn::Lanes(DI()));
  };
  size_t i = 0;
  for (; i + Step() <= count; i += Step()) group(from + i * In::kBits / 8, to + i);
  if (i == count) return;
  alignas(64) uint8_t codes[kMaxStep * In::kBits / 8];
  alignas(64) int32_t numbers[kMaxStep];
  copy_padded(from + i * In::kBits / 8, ((count - i) * In::kBits + 7) / 8, codes, sizeof codes);
  group(codes, numbers);
  copy_bytes(numbers, 4 * (count - i), to + i);
}

/// The values of two bytes each; what is left at the end through padded copies.
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

void WidenFloat16(const uint8_t* from, size_t count, float* to) {
  WidenPairs(from, count, to, [](auto codes) DEQUANT_ATTR {
#if DEQUANT_HARDWARE_FLOAT16
    return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), codes));
#else
    // Its bits as those of a float32, one exact multiplication to correct the exponent, subnormals
    // included, and the top exponent for infinities and NaNs.
    const auto code = hn::PromoteTo(DU(), codes);
    const auto magnitude = hn::ShiftLeft<13>(hn::And(code, hn::Set(DU(), 0x7FFF)));
    const auto value = hn::Mul(hn::BitCast(DF(), magnitude), hn::Set(DF(), 0x1p112F));
    const auto top = hn::Set(DU(), 0x7C00);
    const auto special = hn::VecFromMask(DU(), hn::Eq(hn::And(code, top), top));
    const auto sign = hn::ShiftLeft<16>(hn::And(code, hn::Set(DU(), 0x8000)));
    const auto rest = hn::Or(hn::And(special, hn::Set(DU(), 0x7F800000)), sign);
    return hn::Or(value, hn::BitCast(DF(), rest));
#endif
  });
}

void WidenBfloat16(const uint8_t* from, size_t count, float* to) {
  WidenPairs(from, count, to, [](auto codes) DEQUANT_ATTR {
    return hn::BitCast(DF(), hn::ShiftLeft<16>(hn::PromoteTo(DU(), codes)));
  });
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
  helpers.widen_float16 = WidenFloat16;
  helpers.widen_bfloat16 = WidenBfloat16;
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
