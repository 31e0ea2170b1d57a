// Comparing two tensors, band by band.
#include "format/diff/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "format/diff/block.h"
#include "format/diff/steps.h"
#include "format/model/floats.h"

namespace dequant::format {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Tasks at most among which the channels of a band are divided.
constexpr int64_t kChannelTasks = 64;
/// Elements that are widened to float32 at once.
constexpr int64_t kSlice = 1024;

double decibels(double signal, double noise) {
  if (noise == 0) return kInfinity;
  return 10 * (std::log10(signal) - std::log10(noise));
}

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// Calls task(i) for every i below count, by an executor.
template <class Task>
void for_each_task(const Executor& executor, int64_t count, Task task) {
  if (executor.parallel_for == nullptr || count < 2) {
    for (int64_t i = 0; i < count; ++i) task(i);
    return;
  }
  executor.parallel_for(
      executor.self, static_cast<size_t>(count),
      [](void* context, size_t i) { (*static_cast<Task*>(context))(static_cast<int64_t>(i)); },
      &task);
}

}  // namespace

struct Comparison::Band {
  std::span<const std::byte> a;
  std::span<const std::byte> b;
  int64_t begin = 0;  ///< elements of the tensor
  int64_t end = 0;
};

std::string step_label(size_t bin) {
  if (bin <= 2) return std::to_string(bin);
  const int64_t below = int64_t{1} << (bin - 2);
  return std::to_string(below + 1) + "-" + std::to_string(2 * below);
}

bool is_worse(const Difference& one, const Difference& other) {
  if (one.mismatches() != other.mismatches()) return one.mismatches() > other.mismatches();
  if (one.sqnr_db != other.sqnr_db) return one.sqnr_db < other.sqnr_db;
  if (one.max_abs != other.max_abs) return one.max_abs > other.max_abs;
  return one.size - one.identical > other.size - other.identical;
}

Comparison::Comparison(Element a, Element b, Shape shape, std::optional<int64_t> axis)
    : a_type_(a),
      b_type_(b),
      shape_(shape.begin(), shape.end()),
      axis_(axis),
      size_(product(shape_)) {
  if (!axis_ || size_ == 0) return;
  const auto at = static_cast<size_t>(*axis_);
  inner_ = product(std::span(shape_).subspan(at + 1));
  channels_.resize(static_cast<size_t>(shape_[at]));
}

int64_t Comparison::memory_for_channels(Shape shape, std::optional<int64_t> axis) {
  if (!axis) return 0;
  const int64_t channels = shape[static_cast<size_t>(*axis)];
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Channel));
  return channels > INT64_MAX / kBytes ? INT64_MAX : channels * kBytes;
}

void Comparison::add(std::span<const std::byte> a, std::span<const std::byte> b,
                     const Executor& executor) {
  const auto count = static_cast<int64_t>(a.size()) * 8 / bits(a_type_);
  const Band band{a, b, done_, done_ + count};
  add_blocks(band, executor);
  if (!channels_.empty()) add_channels(band, executor);
  done_ = band.end;
}

void Comparison::add_blocks(const Band& band, const Executor& executor) {
  const int64_t count = band.end - band.begin;
  blocks_.assign(static_cast<size_t>((count + kBlock - 1) / kBlock), {});
  for_each_task(executor, static_cast<int64_t>(blocks_.size()), [&](int64_t i) {
    const int64_t begin = i * kBlock;
    const int64_t size = std::min(kBlock, count - begin);
    const auto part = [&](std::span<const std::byte> bytes, Element type) {
      const auto wide = static_cast<size_t>(bits(type)) / 8;
      return bytes.subspan(static_cast<size_t>(begin) * wide, static_cast<size_t>(size) * wide);
    };
    blocks_[static_cast<size_t>(i)] = compare_block(a_type_, part(band.a, a_type_), b_type_,
                                                    part(band.b, b_type_), band.begin + begin);
  });
  for (const BlockDifference& block : blocks_) merge(block);
}

void Comparison::merge(const BlockDifference& block) {
  total_.identical += block.identical;
  total_.nans += block.nans;
  total_.infinities += block.infinities;
  if (!total_.first_mismatch) total_.first_mismatch = block.first_mismatch;
  if (block.largest > total_.largest) {
    total_.largest = block.largest;
    total_.largest_at = block.largest_at;
  }
  total_.errors += block.errors;
  total_.noise += block.noise;
  total_.signal += block.signal;
  total_.max_ulp = std::max(total_.max_ulp, block.max_ulp);
  for (size_t i = 0; i < kStepBins; ++i) total_.ulp[i] += block.ulp[i];
}

void Comparison::add_channels(const Band& band, const Executor& executor) {
  const auto channels = static_cast<int64_t>(channels_.size());
  const int64_t tasks = std::min(channels, kChannelTasks);
  const int64_t each = (channels + tasks - 1) / tasks;
  for_each_task(executor, tasks, [&](int64_t i) {
    add_channels(band, std::min(channels, i * each), std::min(channels, (i + 1) * each));
  });
}

/// Adds the elements of a band to the channels [first, last), each from front to back.
void Comparison::add_channels(const Band& band, int64_t first, int64_t last) {
  const int64_t row = static_cast<int64_t>(channels_.size()) * inner_;
  for (int64_t begin = band.begin / row * row; begin < band.end; begin += row) {
    const int64_t end = std::min(band.end, begin + last * inner_);
    for (int64_t at = std::max(band.begin, begin + first * inner_); at < end; at += kSlice)
      add_slice(band, at, std::min(end, at + kSlice));
  }
}

void Comparison::add_slice(const Band& band, int64_t begin, int64_t end) {
  const auto size = static_cast<size_t>(end - begin);
  float a_values[kSlice];
  float b_values[kSlice];
  const auto read = [&](std::span<const std::byte> bytes, Element type, float* out) {
    const auto skipped = static_cast<size_t>(begin - band.begin) * static_cast<size_t>(bits(type));
    widen(type, bytes.subspan(skipped / 8), {out, size});
  };
  read(band.a, a_type_, a_values);
  read(band.b, b_type_, b_values);
  const auto channels = static_cast<int64_t>(channels_.size());
  int64_t channel = begin / inner_ % channels;
  int64_t left = inner_ - begin % inner_;
  for (size_t i = 0; i < size; ++i) {
    Channel& c = channels_[static_cast<size_t>(channel)];
    const float a = a_values[i];
    const float b = b_values[i];
    if (std::isfinite(a) && std::isfinite(b)) {
      const double error = std::abs(double{b} - double{a});
      c.largest = std::max(c.largest, error);
      c.noise += error * error;
      c.signal += double{a} * double{a};
    } else {
      c.mismatches += is_mismatch(a, b);
    }
    if (--left > 0) continue;
    left = inner_;
    if (++channel == channels) channel = 0;
  }
}

Difference Comparison::result(size_t worst, bool skip_mismatches) const {
  const int64_t mismatches = total_.nans + total_.infinities;
  const auto count = static_cast<double>(std::max<int64_t>(1, size_ - mismatches));
  const bool infinite = mismatches > 0 && !skip_mismatches;
  Difference d;
  d.shape = shape_;
  d.a_type = a_type_;
  d.b_type = b_type_;
  d.size = size_;
  d.identical = total_.identical;
  d.nan_mismatches = total_.nans;
  d.inf_mismatches = total_.infinities;
  d.max_abs = infinite ? kInfinity : total_.largest;
  d.mean_abs = infinite ? kInfinity : total_.errors / count;
  d.rmse = infinite ? kInfinity : std::sqrt(total_.noise / count);
  d.sqnr_db = infinite ? -kInfinity : decibels(total_.signal, total_.noise);
  d.ulp_type = coarser(a_type_, b_type_);
  d.ulp = total_.ulp;
  d.max_ulp = infinite ? kInfinity : static_cast<double>(total_.max_ulp);
  const auto& at = infinite ? total_.first_mismatch : total_.largest_at;
  if (at) d.worst = pair(*at);
  d.axis = axis_;
  d.worst_channels = worst_channels(worst, skip_mismatches);
  return d;
}

ElementPair Comparison::pair(const BlockDifference::Pair& at) const {
  ElementPair pair{std::vector<int64_t>(shape_.size()), double{at.a}, double{at.b}};
  int64_t rest = at.index;
  for (size_t i = shape_.size(); i-- > 0; rest /= shape_[i]) pair.index[i] = rest % shape_[i];
  return pair;
}

std::vector<ChannelDifference> Comparison::worst_channels(size_t worst,
                                                          bool skip_mismatches) const {
  std::vector<ChannelDifference> found;
  for (size_t i = 0; i < channels_.size(); ++i) {
    const Channel& c = channels_[i];
    if (c.largest == 0 && c.mismatches == 0) continue;
    found.push_back(
        {static_cast<int64_t>(i), c.largest, decibels(c.signal, c.noise), c.mismatches});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
    if (x.mismatches != y.mismatches) return x.mismatches > y.mismatches;
    return x.sqnr_db != y.sqnr_db ? x.sqnr_db < y.sqnr_db : x.max_abs > y.max_abs;
  });
  if (found.size() > worst) found.resize(worst);
  for (ChannelDifference& c : found) {
    if (c.mismatches == 0 || skip_mismatches) continue;
    c.max_abs = kInfinity;
    c.sqnr_db = -kInfinity;
  }
  return found;
}

}  // namespace dequant::format
