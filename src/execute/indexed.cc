// Scales and zero points of a tile, read through the group index element by element.
#include "execute/indexed.h"

#include <cstring>

#include "element/codes.h"
#include "execute/gather.h"
#include "execute/parameters.h"
#include "plan/packing.h"

namespace dequant {
namespace {

/// Calls visit(i, stride, count) for the elements of a tile in row-major order: the scales or zero
/// points of `count` elements are those at i, i + stride, ... of their tensor.
template <class Visit>
class IndexedElements {
 public:
  IndexedElements(Dimensions dimensions, const Tile& tile, int64_t Dimension::*stride,
                  const std::byte* groups, int64_t group_stride, const Visit& visit)
      : dimensions_(dimensions),
        tile_(tile),
        stride_(stride),
        groups_(groups),
        group_stride_(group_stride),
        visit_(visit) {}

  void visit_from(size_t i, int64_t at, int64_t index) const {
    const Dimension& d = dimensions_[i];
    const int64_t size = tile_.size(dimensions_, i);
    const bool innermost = i + 1 == dimensions_.size();
    if (innermost && d.group_index == 0)
      return visit_(at + first_of_group(index), d.*stride_, size);
    for (int64_t k = 0; k < size; ++k, at += d.*stride_, index += d.group_index) {
      if (innermost) {
        visit_(at + first_of_group(index), 1, 1);
      } else {
        visit_from(i + 1, at, index);
      }
    }
  }

 private:
  /// How far the group at an entry of the index is from group 0.
  int64_t first_of_group(int64_t index) const {
    int32_t group = 0;
    std::memcpy(&group, groups_ + index * 4, sizeof group);
    return group * group_stride_;
  }

  Dimensions dimensions_;
  const Tile& tile_;
  int64_t Dimension::*stride_;
  const std::byte* groups_;
  int64_t group_stride_;
  const Visit& visit_;
};

/// Copies the stored scale of each element of a tile to `out`; returns how many. T has the bytes of
/// a scale.
template <class T>
int64_t gather(const std::byte* data, const Plan& plan, const Buffers& buffers,
               Dimensions dimensions, const Tile& tile, const Offsets& at, std::byte* out) {
  T* to = reinterpret_cast<T*>(out);
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const auto visit = [&](int64_t i, int64_t stride, int64_t count) {
    if (stride == 1) {
      std::memcpy(to, data + i * kSize, static_cast<size_t>(count) * sizeof(T));
      to += count;
      return;
    }
    for (; count > 0; --count, i += stride) std::memcpy(to++, data + i * kSize, sizeof(T));
  };
  IndexedElements(dimensions, tile, &Dimension::scale, buffers.group_index.data(),
                  plan.parameters.group_index.scale, visit)
      .visit_from(tile.outermost, at.scale, at.group_index);
  return to - reinterpret_cast<T*>(out);
}

}  // namespace

void gather_indexed_scales(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                           const Tile& tile, const Offsets& at, float* out) noexcept {
  alignas(64) std::byte codes[kParams * sizeof(float)];
  const auto width = bits(plan.scale);
  const auto how = width == 8 ? gather<uint8_t> : width == 16 ? gather<uint16_t> : gather<uint32_t>;
  const int64_t count = how(buffers.scale.data(), plan, buffers, dimensions, tile, at, codes);
  Buffers gathered = buffers;
  gathered.scale = codes;
  load_scales(plan, gathered, 0, 1, count, out);
}

void gather_indexed_zeros(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                          const Tile& tile, const Offsets& at, int32_t* out) noexcept {
  const Element zero = zero_point_element(plan);
  const std::byte* data = buffers.zero_point.data();
  const int width = bits(zero);
  const bool offset_is_separate = kind(zero) != Kind::floating &&
                                  !is_packing(plan.parameters.zero_point_packing) &&
                                  plan.parameters.zero_point_overflow != ZeroPointOverflow::carry;
  const int unused = kind(zero) == Kind::signed_integer ? 32 - width : 0;
  int32_t* to = out;
  const auto visit = [&](int64_t i, int64_t stride, int64_t count) {
    if (!offset_is_separate) {
      load_zeros(plan, buffers, i, stride, count, to);
      to += count;
      return;
    }
    for (; count > 0; --count, i += stride) {
      *to++ = static_cast<int32_t>(load_code(width, data, i) << unused) >> unused;
    }
  };
  IndexedElements(dimensions, tile, &Dimension::zero_point, buffers.group_index.data(),
                  plan.parameters.group_index.zero_point, visit)
      .visit_from(tile.outermost, at.zero_point, at.group_index);
  if (offset_is_separate) finish_zeros(plan, to - out, out);
}

}  // namespace dequant
