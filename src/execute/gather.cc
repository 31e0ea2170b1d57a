// Copies between strided and contiguous memory, row by row.
#include "execute/gather.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "execute/parameters.h"
#include "execute/unpack.h"
#include "plan/packing.h"

namespace dequant {
namespace {

constexpr auto kCacheLineBytes = static_cast<int64_t>(kCacheLine);

/// Copies rows of kBytes to 2 * kBytes - 1 bytes: the first kBytes and the last kBytes, which may
/// overlap.
template <size_t kBytes, class From, class To>
void copy_short(int64_t rows, size_t bytes, const From& from, const To& to) {
  if (bytes == kBytes) {
    for (int64_t r = 0; r < rows; ++r) std::memcpy(to(r), from(r), kBytes);
    return;
  }
  const size_t last = bytes - kBytes;
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(to(r), from(r), kBytes);
    std::memcpy(to(r) + last, from(r) + last, kBytes);
  }
}

/// Copies `rows` rows of `row_bytes` bytes, row r from from(r) to to(r). Rows below 128 bytes are
/// copied without a call of memcpy.
template <class From, class To>
void copy_rows(int64_t rows, int64_t row_bytes, const From& from, const To& to) {
  const auto bytes = static_cast<size_t>(row_bytes);
  switch (std::bit_floor(bytes)) {
    case 1: return copy_short<1>(rows, bytes, from, to);
    case 2: return copy_short<2>(rows, bytes, from, to);
    case 4: return copy_short<4>(rows, bytes, from, to);
    case 8: return copy_short<8>(rows, bytes, from, to);
    case 16: return copy_short<16>(rows, bytes, from, to);
    case 32: return copy_short<32>(rows, bytes, from, to);
    case 64: return copy_short<64>(rows, bytes, from, to);
    default:
      for (int64_t r = 0; r < rows; ++r) std::memcpy(to(r), from(r), bytes);
  }
}

/// The rows of the tile that is gathered next. Each is prefetched while one row of this tile is
/// copied: prefetching all rows at once delays the stores of results.
class NextRows {
 public:
  NextRows(const std::byte* x, int64_t at, int64_t width, const RowOffsets& offsets,
           const Tile& tile)
      : first_(x + (at * width >> 3)),
        width_(width),
        offsets_(offsets),
        bytes_(offsets.row(tile) * width / 8) {
    // The cache line in which one row ends and the next starts is prefetched once.
    const int64_t stride = std::abs(offsets.second_row()) * width / 8;
    start_ = stride - bytes_ < kCacheLineBytes ? 1 : 0;
  }

  [[gnu::always_inline]] void fetch(int64_t r) const noexcept {
    const std::byte* row = first_ + (offsets_[r] * width_ >> 3);
    __builtin_prefetch(row + bytes_);
    for (int64_t i = bytes_ - kCacheLineBytes; i >= start_; i -= kCacheLineBytes)
      __builtin_prefetch(row + i);
  }

 private:
  const std::byte* first_;
  int64_t width_;
  const RowOffsets& offsets_;
  int64_t bytes_;
  int64_t start_;  ///< the lowest offset within a row that is prefetched
};

/// Copies a row of `bytes` bytes behind itself until it stands there `times` times.
[[gnu::noinline]] void repeat_bytes(std::byte* row, int64_t bytes, int64_t times) {
  copy_rows(
      times - 1, bytes, [row](int64_t) { return row; },
      [row, bytes](int64_t k) { return row + (k + 1) * bytes; });
}

/// Scales or zero points of a tile, one for each index of `dimensions`. Load copies some that
/// have a constant stride.
template <class T, class Load>
class ParamCodes {
 public:
  ParamCodes(Dimensions dimensions, int64_t Dimension::*stride, const Tile& tile, const Load& load)
      : dimensions_(dimensions), stride_(stride), tile_(tile), load_(load) {}

  /// Fills `out` for dimension i and all dimensions inside it, the first value being entry `at`;
  /// returns how many. A dimension of stride 0 repeats values: they are copied. Not inlined, as
  /// inlining the recursion only makes the code larger.
  [[gnu::noinline]] int64_t fill(size_t i, int64_t at, T* out) const {
    const int64_t stride = dimensions_[i].*stride_;
    const int64_t size = tile_.size(dimensions_, i);
    const bool innermost = i + 1 == dimensions_.size();
    if (innermost && stride != 0) {
      load_(at, stride, size, out);
      return size;
    }
    if (innermost) load_(at, 1, 1, out);
    const int64_t one = innermost ? 1 : fill(i + 1, at, out);
    if (stride == 0) {
      repeat(out, one, size);
    } else {
      for (int64_t k = 1; k < size; ++k) fill(i + 1, at + k * stride, out + k * one);
    }
    return one * size;
  }

 private:
  static void repeat(T* out, int64_t count, int64_t times) {
    if (count == 1) {
      std::fill_n(out, times, *out);
      return;
    }
    // As bytes, so that all types have one function.
    repeat_bytes(reinterpret_cast<std::byte*>(out), count * static_cast<int64_t>(sizeof(T)), times);
  }

  Dimensions dimensions_;
  int64_t Dimension::*stride_;
  const Tile& tile_;
  const Load& load_;
};

/// Copies parameters of whole bytes as they are stored; returns how many.
template <class T>
int64_t gather_params(const std::byte* data, Dimensions dimensions, int64_t Dimension::*stride,
                      const Tile& tile, int64_t at, void* out) {
  const auto load = [data](int64_t i, int64_t step, int64_t count, T* to) {
    const std::byte* from = data + i * static_cast<int64_t>(sizeof(T));
    if (step == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    const int64_t bytes = step * static_cast<int64_t>(sizeof(T));
    for (int64_t k = 0; k < count; ++k) std::memcpy(to + k, from + k * bytes, sizeof(T));
  };
  return ParamCodes<T, decltype(load)>(dimensions, stride, tile, load)
      .fill(tile.outermost, at, static_cast<T*>(out));
}

/// Copies parameters as codes of unpacked(x); returns how many.
int64_t gather_params(Element x, const std::byte* data, Dimensions dimensions,
                      int64_t Dimension::*stride, const Tile& tile, int64_t at, void* out) {
  switch (bits(x)) {
    case 8: return gather_params<uint8_t>(data, dimensions, stride, tile, at, out);
    case 16: return gather_params<uint16_t>(data, dimensions, stride, tile, at, out);
    case 32: return gather_params<uint32_t>(data, dimensions, stride, tile, at, out);
    default: break;
  }
  const auto load = [x, data](int64_t i, int64_t step, int64_t count, uint8_t* to) {
    unpack(x, data, i, step, count, to);
  };
  return ParamCodes<uint8_t, decltype(load)>(dimensions, stride, tile, load)
      .fill(tile.outermost, at, static_cast<uint8_t*>(out));
}

}  // namespace

void RowOffsets::set(Dimensions dimensions, int64_t Dimension::*stride, const Tile& tile,
                     bool of_dimensions) noexcept {
  size_t i = dimensions.size();
  row_ = 1;
  step_ = 1;
  for (; i > tile.outermost && dimensions[i - 1].*stride == row_; --i) {
    row_ *= tile.size(dimensions, i - 1);
  }
  if (of_dimensions && i == dimensions.size()) {
    --i;
    row_ = tile.size(dimensions, i);
    step_ = dimensions[i].*stride;
  }
  whole_ = i == tile.outermost;
  int64_t rows = 1;
  at_[0] = 0;
  any_ = 0;
  second_row_ = row_;
  for (; i > tile.outermost; --i) {
    const int64_t step = dimensions[i - 1].*stride;
    const int64_t size = tile.size(dimensions, i - 1);
    per_index_ = rows;
    for (int64_t k = 1; k < size; ++k) {
      for (int64_t r = 0; r < rows; ++r) at_[k * rows + r] = at_[r] + k * step;
    }
    if (rows == 1) second_row_ = step;
    rows *= size;
    any_ |= step;
  }
}

void gather_codes(const std::byte* x, int64_t at, int64_t next, int64_t width,
                  const RowOffsets& offsets, const Tile& tile, uint8_t* out) noexcept {
  const auto* first = reinterpret_cast<const uint8_t*>(x) + (at * width >> 3);
  const NextRows others(x, next, width, offsets, tile);
  const int64_t bytes = offsets.row(tile) * width / 8;
  copy_rows(
      offsets.rows(tile), bytes,
      [&](int64_t r) {
        others.fetch(r);
        return first + (offsets[r] * width >> 3);
      },
      [&](int64_t r) { return out + r * bytes; });
}

void gather_unpacked(Element x, const std::byte* data, int64_t at, int64_t next,
                     const RowOffsets& offsets, const Tile& tile, uint8_t* out) noexcept {
  const int64_t row = offsets.row(tile);
  const int64_t size = bits(unpacked(x)) / 8;
  const NextRows others(data, next, bits(x), offsets, tile);
  for (int64_t r = 0; r < offsets.rows(tile); ++r) {
    others.fetch(r);
    unpack(x, data, at + offsets[r], offsets.step(), row, out + r * row * size);
  }
}

void gather_unpacked(const PackedCodes& codes, int64_t at, const RowOffsets& offsets,
                     const Tile& tile, uint8_t* out) noexcept {
  const int64_t row = offsets.row(tile);
  for (int64_t r = 0; r < offsets.rows(tile); ++r) {
    codes.unpack(at + offsets[r], offsets.step(), row, out + r * row);
  }
}

void scatter_results(const uint8_t* results, int64_t size, const RowOffsets& offsets,
                     const Tile& tile, uint8_t* y) noexcept {
  const int64_t bytes = offsets.row(tile) * size;
  copy_rows(
      offsets.rows(tile), bytes, [&](int64_t r) { return results + r * bytes; },
      [&](int64_t r) { return y + offsets[r] * size; });
}

void gather_scales(const Plan& plan, const Buffers& buffers, Dimensions dimensions,
                   const Tile& tile, int64_t at, float* out) noexcept {
  const std::byte* data = buffers.scale.data();
  if (plan.scale == Element::float32) {
    const int64_t count =
        gather_params(plan.scale, data, dimensions, &Dimension::scale, tile, at, out);
    return finish_scales(plan, buffers, count, out);
  }
  alignas(64) uint16_t codes[kParams];
  const int64_t count =
      gather_params(plan.scale, data, dimensions, &Dimension::scale, tile, at, codes);
  Buffers gathered = buffers;
  gathered.scale = std::as_bytes(std::span(codes));
  load_scales(plan, gathered, 0, 1, count, out);
}

void gather_zeros(const Plan& plan, const Buffers& buffers, const Helpers& helpers,
                  Dimensions dimensions, const Tile& tile, int64_t at, int32_t* out) noexcept {
  const std::byte* data = buffers.zero_point.data();
  const Element stored = zero_point_element(plan);
  if (kind(stored) == Kind::floating || is_packing(plan.parameters.zero_point_packing) ||
      plan.parameters.zero_point_overflow == ZeroPointOverflow::carry) {
    const auto load = [&](int64_t i, int64_t step, int64_t count, int32_t* to) {
      load_zeros(plan, buffers, i, step, count, to);
    };
    ParamCodes<int32_t, decltype(load)>(dimensions, &Dimension::zero_point, tile, load)
        .fill(tile.outermost, at, out);
    return;
  }
  const Element x = unpacked(stored);
  if (bits(x) == 32) {
    gather_params(x, data, dimensions, &Dimension::zero_point, tile, at, out);
    return;
  }
  alignas(64) uint8_t codes[kParams * 2];
  const int64_t count =
      gather_params(stored, data, dimensions, &Dimension::zero_point, tile, at, codes);
  helpers.widen[static_cast<size_t>(x)](codes, static_cast<size_t>(count), out);
  finish_zeros(plan, count, out);
}

void gather_matrix(const Plan& plan, const Buffers& buffers, const Table& table,
                   const Dimension& outer, const Dimension& inner, int64_t Dimension::*stride,
                   int64_t at, uint8_t* scratch, void* out) noexcept {
  const bool in_order = inner.*stride == 1 || outer.*stride != 1;
  const std::array dimensions{in_order ? outer : inner, in_order ? inner : outer};
  const Tile tile{0, dimensions[0].size, outer.size * inner.size};
  void* to = in_order ? out : scratch;
  if (stride == &Dimension::scale) {
    gather_scales(plan, buffers, dimensions, tile, at, static_cast<float*>(to));
  } else {
    gather_zeros(plan, buffers, table.helpers, dimensions, tile, at, static_cast<int32_t*>(to));
  }
  if (in_order) return;
  table.transpose[2]({.from = scratch,
                      .from_stride = outer.size * 4,
                      .to = static_cast<uint8_t*>(out),
                      .to_stride = static_cast<size_t>(inner.size) * 4,
                      .rows = static_cast<size_t>(inner.size),
                      .columns = static_cast<size_t>(outer.size)});
}

}  // namespace dequant
