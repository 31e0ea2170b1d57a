// Cuts ranges of elements into spans of indices, and spans into regions.
#include "plan/regions.h"

#include "checked.h"
#include "plan/strided.h"

namespace dequant {

int64_t Region::elements() const noexcept {
  int64_t count = 1;
  for (const Dimension& d : dimensions()) count *= d.size;
  return count;
}

Offsets origin_of(const Plan& plan) noexcept {
  const auto start = [&](int64_t Dimension::*stride) {
    return -reach(plan.dimensions, stride).lowest;
  };
  return {start(&Dimension::x), start(&Dimension::scale), start(&Dimension::zero_point),
          start(&Dimension::y), start(&Dimension::group_index)};
}

Spans::Spans(const Plan& plan, Range elements) noexcept
    : dimensions_(plan.dimensions), empty_(elements.begin >= elements.end) {
  if (empty_) return;
  int64_t first = elements.begin;
  int64_t last = elements.end - 1;
  for (size_t d = dimensions_.size(); d-- > 0;) {
    const int64_t size = dimensions_[d].size;
    first_[d] = first % size;
    last_[d] = last % size;
    first /= size;
    last /= size;
  }
}

bool Spans::starts_at(size_t d) const noexcept {
  for (; d < dimensions_.size(); ++d) {
    if (first_[d] != 0) return false;
  }
  return true;
}

bool Spans::ends_at(size_t d) const noexcept {
  for (; d < dimensions_.size(); ++d) {
    if (last_[d] != dimensions_[d].size - 1) return false;
  }
  return true;
}

Regions::Cut Regions::cut(const Dimension& d, Indices indices) noexcept {
  const int64_t end = indices.first + indices.count;
  const int64_t first_whole = ceil_div(indices.first, d.block) * d.block;
  const int64_t whole_end = end / d.block * d.block;
  Cut out{};
  const auto add = [&](int64_t begin, int64_t stop) {
    if (begin < stop) out.parts[out.count++] = {begin, stop - begin};
  };
  if (d.block == 1 || whole_end < first_whole) {
    add(indices.first, end);  // no blocks, or a part of one block
  } else {
    add(first_whole, whole_end);
    add(indices.first, first_whole);
    add(whole_end, end);
  }
  return out;
}

Regions::Regions(const Plan& plan, const Span& span, Offsets start) noexcept
    : dimensions_(plan.dimensions), start_(start) {
  for (size_t i = 0; i < dimensions_.size(); ++i) {
    cuts_[i] = cut(dimensions_[i], span[i]);
    count_ *= cuts_[i].count;
  }
}

Region Regions::operator[](size_t i) const noexcept {
  Region region;
  region.origin = start_;
  const auto append = [&](const Dimension& d) {
    if (d.size != 1) region.list[region.rank++] = d;
  };
  for (size_t k = 0; k < dimensions_.size(); ++k) {
    const Indices part = cuts_[k].parts[i % cuts_[k].count];
    i /= cuts_[k].count;
    Dimension d = dimensions_[k];
    const int64_t block = d.block;
    d.block = 1;
    // Indices within a block do not move the scale and the zero point; blocks move only these.
    Dimension within = d;
    within.scale = within.zero_point = 0;
    region.origin.step(within, part.first);
    Dimension parameters;
    parameters.scale = d.scale;
    parameters.zero_point = d.zero_point;
    region.origin.step(parameters, part.first / block);
    if (block == 1) {
      d.size = part.count;
      append(d);
      continue;
    }
    const bool whole = part.first % block == 0 && part.count % block == 0;
    const int64_t blocks = whole ? part.count / block : 1;
    if (blocks > 1) {  // else a block may be longer than any stride allows
      append({.size = blocks,
              .x = d.x * block,
              .scale = d.scale,
              .zero_point = d.zero_point,
              .y = d.y * block,
              .group_index = d.group_index * block});
    }
    within.size = part.count / blocks;
    append(within);
  }
  return region;
}

Region first_region(const Plan& plan) noexcept {
  Span span{};
  for (size_t i = 0; i < plan.dimensions.size(); ++i) span[i] = {0, plan.dimensions[i].size};
  return Regions(plan, span, origin_of(plan))[0];
}

}  // namespace dequant
