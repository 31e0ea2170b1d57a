// Any target, any kind of stores, ranges, and buffers that are too short.
#include "fuzz/support/every_way.h"

#include <array>
#include <set>

#include "dequant/cuda.h"
#include "dequant/isa.h"
#include "dequant/tensor.h"
#include "fuzz/support/check.h"

namespace dequant::fuzz {
namespace {

constexpr std::array kStores{Stores::automatic, Stores::cached, Stores::streaming};

void use(std::string_view target) { require(bool{force_target(target)}, "a target is unknown"); }

/// Bytes in memory of their own.
Exact slice(std::span<const std::byte> whole, Range bytes) {
  if (whole.empty()) return Exact();
  const auto size = static_cast<size_t>(bytes.end - bytes.begin);
  Exact out(size);
  std::ranges::copy(whole.subspan(static_cast<size_t>(bytes.begin), size), out.bytes().begin());
  return out;
}

/// Packed elements of a range that starts on a byte.
Exact slice(Element element, std::span<const std::byte> whole, Range range) {
  return slice(whole, {packed_bytes(element, range.begin).value(),
                       packed_bytes(element, range.end).value()});
}

/// Runs a range of any plan on memory that holds its slices alone, and copies y into `joined`: by
/// the kernels of devices if `device`.
void run_one_range(const Plan& plan, const Tensors& t, Range range, bool device, Exact& joined) {
  // A range of all elements is a call of run(), which takes all of every tensor.
  const Extents e = extents(plan);
  const bool all = range == Range{0, element_count(plan)};
  const Slices s =
      all ? Slices{{0, e.x},         {0, e.scale}, {0, e.zero_point},   {0, e.min_range},
                   {0, e.max_range}, {0, e.y},     {0, e.tensor_scale}, {0, e.group_index},
                   {0, e.codebook}}
          : slices_of(plan, range);
  const auto within = [](Range slice, int64_t extent, int64_t multiple) {
    return slice.begin >= 0 && slice.begin <= slice.end && slice.end <= extent &&
           slice.begin % multiple == 0;
  };
  const bool bytes = plan.parameters.x_packing.order != CodeOrder::of_element ||
                     plan.parameters.x_blocks.has_value();
  require(within(s.x, e.x, bytes ? 1 : 8) && within(s.scale, e.scale, 8) &&
              within(s.zero_point, e.zero_point, 8) && within(s.min_range, e.min_range, 8) &&
              within(s.max_range, e.max_range, 8) && within(s.y, e.y, 1),
          "slices_of() breaks its promise");
  Tensors slices;
  slices.x = slice(t.x.bytes(), x_bytes_of(plan, s.x));
  slices.scale = slice(plan.scale, t.scale.bytes(), s.scale);
  slices.zero_point = slice(t.zero_point.bytes(), zero_point_bytes_of(plan, s.zero_point));
  slices.tensor_scale = slice(Element::float32, t.tensor_scale.bytes(), s.tensor_scale);
  slices.group_index = slice(Element::int32, t.group_index.bytes(), s.group_index);
  slices.codebook = slice(Element::float32, t.codebook.bytes(), s.codebook);
  slices.min_range = slice(plan.scale, t.min_range.bytes(), s.min_range);
  slices.max_range = slice(plan.scale, t.max_range.bytes(), s.max_range);
  Exact y = slice(plan.output, joined.bytes(), s.y);
  uint32_t faults = 0;
  const Status done = device ? cuda::run_range(plan, range, slices.buffers(y), {.faults = &faults})
                             : run_range(plan, range, slices.buffers(y), {sequential_executor()});
  require(faults == 0, "kernels of devices see faults where there are none");
  require(accepted(done), "a range is refused where the whole tensor runs");
  if (!y.bytes().empty()) {
    const auto at = static_cast<size_t>(bytes_of(plan.output, s.y).begin);
    std::ranges::copy(y.bytes(), joined.bytes().begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void run_ranges(const Plan& plan, const Tensors& t, Cursor& cursor, const Exact& whole) {
  const int64_t count = element_count(plan);
  Exact joined = t.y();
  const bool device = cursor.coin();
  int64_t begin = 0;
  for (int i = 0; i < 3 && begin < count; ++i) {
    const int64_t left = count - begin;
    const auto length = static_cast<int64_t>(cursor.below(static_cast<size_t>(left + 1)));
    const int64_t end = i == 2 || length == 0 ? count : begin + length;
    run_one_range(plan, t, {begin, end}, device, joined);
    begin = end;
  }
  run_one_range(plan, t, {0, 0}, device, joined);
  require(joined == whole, "ranges joined differ from the whole tensor");
}

/// True if elements read every index between the lowest and the highest one that they read, by the
/// strides in the group index or in the zero points.
bool reads_all(const Plan& plan, int64_t Dimension::*stride) {
  std::set<int64_t> read{0};
  for (const Dimension& d : plan.dimensions) {
    const int64_t block = stride == &Dimension::group_index ? 1 : d.block;
    if (d.*stride == 0) continue;
    const std::set<int64_t> outer = read;
    for (int64_t i = block; i < d.size; i += block) {
      for (const int64_t at : outer) read.insert(at + i / block * d.*stride);
    }
  }
  return *read.rbegin() - *read.begin() + 1 == static_cast<int64_t>(read.size());
}

/// True if a device sees all that run() checks: run() checks every entry of the group index and
/// every zero point of floats, a device those that elements read.
bool sees_all(const Plan& plan) {
  const bool has_groups = plan.parameters.group_index.groups != 0;
  if (element_count(plan) == 0 || (has_groups && kind(plan.input) == Kind::floating)) return false;
  return reads_all(plan, &Dimension::group_index) && reads_all(plan, &Dimension::zero_point);
}

/// The kernels of devices, whose bodies run on the host: the bits of run(), or a fault where run()
/// refuses values that only the device sees.
void run_on_device(const Plan& plan, const Tensors& t, const Status& done, const Exact& y) {
  Exact other = t.y();
  uint32_t faults = 0;
  const Status status = cuda::run(plan, t.buffers(other), {.faults = &faults});
  if (done) {
    require(accepted(status) && faults == 0, "a device refuses what the reference runs");
    require(other == y, "kernels of devices differ from the reference");
  } else if (!accepted(status)) {
    require(untouched(other), "y is written to by a device that refuses");
  } else {
    require(cuda::needs_faults(plan) && (faults != 0 || !sees_all(plan)),
            "a device runs what the reference refuses");
  }
}

/// A byte less of any buffer is refused.
void run_short(const Plan& plan, const Tensors& t, Cursor& cursor) {
  Exact y = t.y();
  Buffers b = t.buffers(y);
  const std::array inputs{&b.x,         &b.scale,        &b.zero_point,  &b.min_range,
                          &b.max_range, &b.tensor_scale, &b.group_index, &b.codebook};
  const size_t which = cursor.below(inputs.size() + 1);
  if (which == inputs.size()) {
    if (b.y.empty()) return;
    b.y = b.y.first(b.y.size() - 1);
  } else {
    if (inputs[which]->empty()) return;
    *inputs[which] = inputs[which]->first(inputs[which]->size() - 1);
  }
  require(!accepted(run(plan, b, {sequential_executor()})), "a buffer that is too short is taken");
  require(untouched(y), "y is written to, but a buffer is too short");
}

}  // namespace

std::optional<Exact> run_several_ways(const Plan& plan, const Tensors& tensors, Cursor& cursor) {
  use("reference");
  Exact y = tensors.y();
  const Status done = run(plan, tensors.buffers(y), {sequential_executor()});
  if (!accepted(done)) require(untouched(y), "y is written to by a run that fails");

  // One other way for each input: over millions of them, all.
  use(targets()[cursor.below(targets().size())]);
  Exact other = tensors.y();
  const RunOptions options{sequential_executor(), kStores[cursor.below(kStores.size())]};
  const Status status = run(plan, tensors.buffers(other), options);
  require(accepted(status) == accepted(done), "a target refuses what the reference runs");
  require(other == y, "a target differs from the reference");

  if (cursor.coin()) run_on_device(plan, tensors, done, y);

  use(targets().front());
  const bool short_of_memory = cursor.coin();
  if (short_of_memory) run_short(plan, tensors, cursor);
  if (!done) return std::nullopt;
  if (!short_of_memory) run_ranges(plan, tensors, cursor, y);
  return y;
}

}  // namespace dequant::fuzz
