// The regions of one call that an executor's threads share. A call has one executor call, so the
// chunks of all its regions are numbered together.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <type_traits>

#include "execute/chunk.h"
#include "execute/way.h"
#include "plan/regions.h"

namespace dequant {

/// Jobs of regions, each with a copy of its region and its way, as nothing is allocated.
class RegionJobs {
 public:
  /// Whole tensors of four dimensions with blocks have so many regions. A range has more, of which
  /// all but those of whole rows are short.
  static constexpr size_t kMost = 16;

  bool is_full() const noexcept { return count_ == kMost; }

  /// Chunks of all jobs.
  size_t chunks() const noexcept { return count_ == 0 ? 0 : entry(count_ - 1).end; }

  /// Adds a job whose region and way may end; its other references must live as long as this
  /// object. Demands a region and room.
  void add(const Job& job) noexcept {
    const size_t end = chunks() + static_cast<size_t>(job.way.chunks);
    new (storage_.data() + count_++ * sizeof(Entry)) Entry(job, end);
  }

  /// An Executor::Task, for each number below chunks().
  static void run(void* self, size_t i) { static_cast<const RegionJobs*>(self)->run_one(i); }

 private:
  struct Entry {
    Entry(const Job& of, size_t last) noexcept
        : region(*of.region),
          way(of.way),
          job{of.plan, of.buffers, of.table, of.elements, of.first_scale, way, &region, of.x_byte},
          end(last) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

    Region region;
    Way way;
    Job job;
    size_t end;  ///< the chunks of this job and of those before it
  };

  static_assert(std::is_trivially_destructible_v<Entry>);

  const Entry& entry(size_t i) const noexcept {
    return *std::launder(reinterpret_cast<const Entry*>(storage_.data() + i * sizeof(Entry)));
  }

  void run_one(size_t i) const noexcept {
    size_t found = 0;
    while (i >= entry(found).end) ++found;
    run_chunk(entry(found).job, i - (found == 0 ? 0 : entry(found - 1).end));
  }

  /// Of `count_` entries. Not an array of std::optional: gcc fills that with zeros, which takes
  /// longer than a short call.
  alignas(Entry) std::array<std::byte, kMost * sizeof(Entry)> storage_;
  size_t count_ = 0;
};

}  // namespace dequant
