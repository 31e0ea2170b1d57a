// Tiles of products, and the helpers that finish them.
#include "execute/stages.h"

#include <array>

#include "execute/check_parameters.h"
#include "execute/tiles.h"

namespace dequant {
namespace {

/// Elements of a tile; whole bytes whatever the width of a code.
constexpr int64_t kTile = 1024;
constexpr auto kCacheLineBytes = static_cast<int64_t>(kCacheLine);
/// The zero points of a kernel that subtracts none.
alignas(64) constexpr int32_t kNoZeros[kTile] = {};

template <class T>
Helpers::Spread spread(const T* from, T* to) {
  return {reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to)};
}

class Tile {
 public:
  /// `group` elements share an entry of `params`; 1: each element has one.
  Tile(const Stages& stages, int64_t count, int64_t group, const Params& params)
      : stages_(stages), count_(count), group_(group), params_(params) {}

  /// Products of the codes and their scales, less integer zero points.
  void multiply(const ProductKernel& kernel, const uint8_t* codes) {
    const bool has_zeros = !has_float_zero_points(stages_.plan);
    call(kernel.kernel, kernel.lut, codes, group_, params_.scale,
         has_zeros ? params_.zero : kNoZeros, params_.finite_normal);
  }

  /// The same with float zero points.
  void subtract_and_multiply(const ProductKernel& kernel, const uint8_t* codes) {
    const float one = 1;
    call(kernel.of_groups, kernel.lut, codes, count_, &one, kNoZeros, true);
    const size_t type = output_index(zero_point_element(stages_.plan));
    const bool expands = this->expands();
    if (expands) expand({spread(params_.scale, scale_), spread(params_.zero, zero_)}, 2);
    stages_.table.helpers.subtract_floats[type]({.values = values_,
                                                 .count = static_cast<size_t>(count_),
                                                 .scale = expands ? scale_ : params_.scale,
                                                 .zero = expands ? zero_ : params_.zero,
                                                 .group = entry_group()});
  }

  /// From products to results.
  void store(uint8_t* y) {
    const int64_t bytes = count_ * bits(stages_.plan.output) / 8;
    const bool lines =
        reinterpret_cast<uintptr_t>(y) % kCacheLine == 0 && bytes % kCacheLineBytes == 0;
    if (!stages_.stream || lines) return finish(y, stages_.stream);
    alignas(64) uint8_t results[kTile * sizeof(float)];
    finish(results, false);
    stages_.table.helpers.stream(results, y, static_cast<size_t>(bytes));
  }

 private:
  /// True if helpers need the entries of groups for each element.
  bool expands() const {
    return group_ > 1 && group_ < count_ && group_ % static_cast<int64_t>(kResultGroup) != 0 &&
           group_ != static_cast<int64_t>(kShortResultGroup);
  }
  /// Elements that share an entry, as helpers get them.
  size_t entry_group() const { return expands() ? 1 : static_cast<size_t>(group_); }

  /// Copies the entries of groups to each element.
  void expand(const std::array<Helpers::Spread, 2>& params, size_t how_many) {
    stages_.table.helpers.repeat(params.data(), how_many, static_cast<size_t>(group_), 0,
                                 static_cast<size_t>(count_));
  }

  void call(KernelFn kernel, const float* lut, const uint8_t* codes, int64_t group,
            const float* scale, const int32_t* zero, bool finite_normal) {
    kernel({.x = codes,
            .y = reinterpret_cast<uint8_t*>(values_),
            .count = static_cast<size_t>(count_),
            .group = static_cast<size_t>(group),
            .scale = scale,
            .zero = zero,
            .lut = lut,
            .finite_normal = finite_normal});
  }

  void finish(uint8_t* y, bool stream) {
    const Parameters& p = stages_.plan.parameters;
    const int32_t* zero = nullptr;
    if (p.zero_point_role != ZeroPointRole::subtract_before) {
      if (expands()) expand({spread(params_.zero, zero_), {}}, 1);
      zero = expands() ? zero_ : params_.zero;
    }
    const size_t rounding = output_index(p.result_rounding.value_or(Element::float32));
    const size_t output = output_index(stages_.plan.output);
    stages_.table.helpers.after_product[rounding][output](
        {.products = values_,
         .y = y,
         .count = static_cast<size_t>(count_),
         .factor = p.result_factor,
         .zero = zero,
         .group = entry_group(),
         .subtracts = p.zero_point_role == ZeroPointRole::subtract_after,
         .stream = stream});
  }

  const Stages& stages_;
  int64_t count_;
  int64_t group_;
  Params params_;
  alignas(64) float values_[kTile];
  alignas(64) float scale_[kTile + Helpers::kSlack];
  alignas(64) int32_t zero_[kTile + Helpers::kSlack];
};

}  // namespace

bool has_stages(const Plan& plan) noexcept {
  const Parameters& p = plan.parameters;
  const bool rounds = p.result_rounding && *p.result_rounding != plan.output;
  return has_float_zero_points(plan) || factor_bits(p.result_factor) != 0 || rounds;
}

void run_stages(const Stages& stages, const ProductKernel& kernel, ScaleLayout scale_layout,
                const uint8_t* codes, uint8_t* y, int64_t count, int64_t group,
                const Params& params) noexcept {
  const bool per_group = scale_layout == ScaleLayout::per_group;
  const bool subtracts = has_float_zero_points(stages.plan) &&
                         stages.plan.parameters.zero_point_role == ZeroPointRole::subtract_before;
  const int64_t y_size = bits(stages.plan.output) / 8;
  for (int64_t i = 0, n = 0; i < count; i += n) {
    n = tile_size(scale_layout, i, count, group, kTile);
    Tile tile(stages, n, per_group ? group : 1, advanced(params, per_group ? i / group : i));
    const uint8_t* from = codes + i * kernel.width / 8;
    subtracts ? tile.subtract_and_multiply(kernel, from) : tile.multiply(kernel, from);
    tile.store(y + i * y_size);
  }
}

}  // namespace dequant
