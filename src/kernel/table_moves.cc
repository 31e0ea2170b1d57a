// What else the way to a row takes, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_moves.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/careful.h"
#include "kernel/decode_packed-inl.h"

#if DEQUANT_VECTOR_PASS
DEQUANT_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {
namespace {

bool AllPlain(const float* values, size_t count, bool zero_too) {
  const size_t lanes = hn::Lanes(DU());
  const auto no_sign = hn::Set(DU(), 0x7FFFFFFF);
  // Of the magnitudes moved down by the smallest plain one, those that are plain lie below `range`, and
  // smaller ones wrap around.
  const auto smallest = hn::Set(DU(), kSmallestPlain);
  const auto range = hn::Set(DU(), 0x7F800000 - kSmallestPlain);
  auto worst = hn::Zero(DU());
  const auto look = [&](VU bits) DEQUANT_ATTR {
    const auto magnitude = hn::And(bits, no_sign);
    const auto moved = hn::Sub(magnitude, smallest);
    const auto zero = hn::VecFromMask(DU(), hn::Eq(magnitude, hn::Zero(DU())));
    return zero_too ? hn::AndNot(zero, moved) : moved;
  };
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(values + i));
    worst = hn::Max(worst, look(bits));
  }
  for (; i < count; ++i) {
    if (!is_plain(values[i], zero_too)) return false;
  }
  return hn::AllTrue(DU(), hn::Lt(worst, range));
}

/// Runs of a vector or more: whole vectors; those beyond a run are overwritten by the next.
void RepeatLong(const uint32_t* values, size_t run, size_t into, uint32_t* out, size_t count) {
  const size_t lanes = hn::Lanes(DU());
  const uint32_t* const end = out + count;
  for (; out < end; ++values, into = 0) {
    const size_t n = HWY_MIN(run - into, static_cast<size_t>(end - out));
    const auto value = hn::Set(DU(), *values);
    for (size_t i = 0; i < n; i += lanes) hn::StoreU(value, DU(), out + i);
    out += n;
  }
}

/// Shorter ones: a vector holds all that the next vector repeats.
void RepeatShort(const uint32_t* values, size_t run, size_t into, uint32_t* out, size_t count) {
  const size_t lanes = hn::Lanes(DU());
  const uint32_t* const end = values + (into + count + run - 1) / run;
  // Lane i takes the (into + i) / run-th value; half a step up, so that rounding never matters.
  const auto middle = hn::Add(hn::Iota(DF(), 0), hn::Set(DF(), 0.5F));
  const auto step = hn::Set(DF(), 1.0F / static_cast<float>(run));
  const size_t whole = lanes / run;
  const size_t past = lanes % run;
  for (size_t i = 0; i < count; i += lanes) {
    const auto place = hn::Add(middle, hn::Set(DF(), static_cast<float>(into)));
    const auto index = hn::ConvertTo(DI(), hn::Mul(place, step));
    alignas(64) uint32_t padding[kMaxLanes];
    const auto left = static_cast<size_t>(end - values);
    const uint32_t* from = values;
    if (HWY_UNLIKELY(left < lanes)) {
      copy_padded(values, left * sizeof *values, padding, sizeof padding);
      from = padding;
    }
    const auto table = hn::LoadU(DU(), from);
    hn::StoreU(hn::TableLookupLanes(table, hn::IndicesFromVec(DU(), index)), DU(), out + i);
    const bool carries = into + past >= run;
    values += whole + carries;
    into += past - (carries ? run : 0);
  }
}

void Repeat(const uint32_t* values, size_t run, size_t into, uint32_t* out, size_t count) {
  static_assert(Moves::kSlack >= kMaxLanes);
  if (run < hn::Lanes(DU())) return RepeatShort(values, run, into, out, count);
  RepeatLong(values, run, into, out, count);
}

template <class In>
void Widen(const uint8_t* from, size_t count, int32_t* to) {
  const In in(nullptr);
  const auto group = [&](const uint8_t* p, int32_t* out) DEQUANT_ATTR {
    VI codes[kGroup];
    in.Decode(p, codes);
    for (size_t q = 0; q < kGroup; ++q) hn::StoreU(codes[q], DI(), out + q * hn::Lanes(DI()));
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
  const size_t head = HWY_MIN((kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine, bytes);
  copy_bytes(from, head, to);
  size_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
    for (size_t k = 0; k < kLine; k += hn::Lanes(d)) {
      hn::Stream(hn::LoadU(d, from + i + k), d, to + i + k);
    }
  }
  copy_bytes(from + i, bytes - i, to + i);
}

}  // namespace

void FillMoves(Table& table) {
  table.lanes = hn::Lanes(DF());
  Moves& moves = table.moves;
  moves.all_plain = AllPlain;
  moves.repeat = Repeat;
  moves.widen_float16 = WidenFloat16;
  moves.widen_bfloat16 = WidenBfloat16;
  moves.stream = Stream;
  const auto widen = [&](Element x) -> auto& { return moves.widen[static_cast<size_t>(x)]; };
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
void FillMoves(Table&) {}
}  // namespace dequant::HWY_NAMESPACE
#endif

#if HWY_ONCE
namespace dequant {
void fill_moves(int64_t target, Table& table) { DEQUANT_FILL(target, FillMoves, table); }
}  // namespace dequant
#endif
