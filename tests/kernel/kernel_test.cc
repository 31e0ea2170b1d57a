// Every kernel of every target against the reference: lengths, alignments, groups, streaming.
// Memory has a guard page at both ends, so a read or a write beyond the arguments crashes.
#include <gtest/gtest.h>

#include "kernel/kernel_check.h"

namespace dequant::kernel_test {
namespace {

using testing::all_entries;
using testing::CallData;
using testing::Entry;
using testing::KernelCheck;
using testing::whole_byte_group;

/// Elements of a vector of the widest target.
constexpr size_t kLanes = 16;

std::string describe(const Entry& e, const CallData& p) {
  return to_string(e) + ", " + std::to_string(p.count) + " elements, groups of " +
         std::to_string(p.group) + ", x + " + std::to_string(p.x_offset) + ", y + " +
         std::to_string(p.y_offset) + (p.at_end ? ", at the end" : "") +
         (p.stream ? ", streamed" : "");
}

TEST(Kernel, EveryTargetHasEveryKernel) {
  for (const Element x : elements().first(kInputs)) EXPECT_TRUE(is_input(x));
  for (const std::string_view target : targets()) {
    for (const Entry& e : testing::entries_of(target)) EXPECT_NE(e.kernel, nullptr) << to_string(e);
  }
  EXPECT_EQ(table_of("no such target"), nullptr);
}

TEST(Kernel, EveryTargetHasKernelsOfItsOwn) {
  for (const Entry& e : all_entries()) EXPECT_NE(e.kernel, e.reference) << to_string(e);
}

TEST(Kernel, AllTargetsMatchReferenceBitwiseAtEveryLength) {
  KernelCheck check(4 * kLanes + 1);
  for (const Entry& e : all_entries()) {
    for (size_t count = 1; count <= 4 * kLanes + 1; ++count) {
      const auto any = static_cast<size_t>(check.random().in(1, static_cast<int64_t>(count)));
      for (const size_t group : {count, count + 7, whole_byte_group(e.x, any)}) {
        if (e.scale_layout == ScaleLayout::per_element && group != count) continue;
        for (const bool stream : {false, true}) {
          for (const bool at_end : {false, true}) {
            const CallData p{.count = count,
                             .group = group,
                             .x_offset = static_cast<size_t>(check.random().in(0, 63)),
                             .y_offset = static_cast<size_t>(check.random().in(0, 15)) * 4,
                             .at_end = at_end,
                             .stream = stream};
            ASSERT_TRUE(check.agrees(e, p)) << describe(e, p);
          }
        }
      }
    }
  }
}

TEST(Kernel, AllTargetsMatchReferenceBitwiseAtEveryAlignment) {
  KernelCheck check(3 * kLanes);
  for (const Entry& e : all_entries()) {
    for (const size_t count : {size_t{1}, size_t{7}, kLanes, 2 * kLanes + 1, 3 * kLanes}) {
      for (size_t offset = 0; offset < 64; ++offset) {
        const size_t group = whole_byte_group(e.x, offset % 2 == 0 ? count : count / 2 + 1);
        const CallData p{.count = count,
                         .group = group,
                         .x_offset = offset * 5 % 64,
                         .y_offset = offset,
                         .stream = (offset / 2 + count) % 2 == 0};
        ASSERT_TRUE(check.agrees(e, p)) << describe(e, p);
        CallData other = p;
        other.stream = !p.stream;
        ASSERT_TRUE(check.agrees(e, other)) << describe(e, other);
      }
    }
  }
}

TEST(Kernel, AllTargetsMatchReferenceBitwiseOnLongRows) {
  // Long enough for streams that start and end within a vector.
  KernelCheck check(5000);
  for (const Entry& e : all_entries()) {
    for (const size_t group : {8u, 16u, 32u, 36u, 128u, 1000u, 2052u, 6000u}) {
      for (const bool stream : {false, true}) {
        const auto offset = static_cast<size_t>(check.random().in(0, 15));
        const CallData p{.count = static_cast<size_t>(check.random().in(500, 5000)),
                         .group = group,
                         .x_offset = offset,
                         .y_offset = group == 6000 ? offset : offset * 4,
                         .stream = stream};
        ASSERT_TRUE(check.agrees(e, p)) << describe(e, p);
      }
    }
  }
}

TEST(Kernel, ManyShortGroupsOfWholeBytes) {
  KernelCheck check(64);
  for (const Entry& e : all_entries()) {
    if (e.scale_layout == ScaleLayout::per_element) continue;
    for (size_t group = 1; group <= 33; ++group) {
      const CallData p{
          .count = 61, .group = whole_byte_group(e.x, group), .stream = group % 2 == 0};
      ASSERT_TRUE(check.agrees(e, p)) << describe(e, p);
    }
  }
}

}  // namespace
}  // namespace dequant::kernel_test
