// Layouts of codes, unpacked to a byte each by vectors, for every target.
#include "kernel/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernel/table_unpack.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernel/special_values.h"
#include "kernel/unpack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dequant::HWY_NAMESPACE {

#if DEQUANT_VECTOR_PASS
namespace {

template <int kBits>
void FillWidth(Helpers& helpers) {
  helpers.unpack_stream[kBits] = Unpack<Stream<kBits>>;
  // Words without padding are streams.
  constexpr bool kPadded = 32 % kBits != 0;
  using Layout = std::conditional_t<kPadded, PaddedWords<kPadded ? kBits : 3>, Stream<kBits>>;
  helpers.unpack_words[kBits] = Unpack<Layout>;
}

}  // namespace
#endif

void FillUnpacking([[maybe_unused]] Table& table) {
#if DEQUANT_VECTOR_PASS
  Helpers& helpers = table.helpers;
  FillWidth<1>(helpers);
  FillWidth<2>(helpers);
  FillWidth<3>(helpers);
  FillWidth<4>(helpers);
  FillWidth<5>(helpers);
  FillWidth<6>(helpers);
  FillWidth<7>(helpers);
  FillWidth<8>(helpers);
  helpers.unpack_planes[3] = Unpack<Planes<3>>;
  helpers.unpack_planes[5] = Unpack<Planes<5>>;
  helpers.unpack_planes[6] = Unpack<Planes<6>>;
  helpers.unpack_planes[7] = Unpack<Planes<7>>;
  helpers.unpack_interleaved = Unpack<Interleaved>;
  helpers.unpack_high_first = Unpack<HighFirst>;
  helpers.unpack_float4 = Unpack<Float4>;
  helpers.fields_of_bytes = FieldsOfBytes;
  helpers.fields_of_words = FieldsOfWords;
  helpers.split_nibbles = SplitNibbles;
  helpers.bytes_of_words = BytesOfWords;
#endif
}

}  // namespace dequant::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dequant {
void fill_unpacking(int64_t target, Table& table) { DEQUANT_FILL(target, FillUnpacking, table); }
}  // namespace dequant
#endif
