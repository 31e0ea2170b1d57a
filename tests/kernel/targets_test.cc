// The choice among instruction sets.
#include "kernel/targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "dequant/isa.h"
#include "support/expect_error.h"
#include "support/forced_target.h"

namespace dequant::targets_test {
namespace {

using testing::ForcedTarget;
using testing::is_invalid;

TEST(Targets, AreKnownNamesBestFirstAndEndWithTheReference) {
  const std::vector<std::string_view> order{"avx512_fp16", "avx512_bf16", "avx512",   "avx2",
                                            "sse4",        "neon",        "reference"};
  ASSERT_FALSE(targets().empty());
  EXPECT_EQ(targets().back(), "reference");
  auto from = order.begin();
  for (const std::string_view target : targets()) {
    from = std::find(from, order.end(), target);
    ASSERT_NE(from, order.end()) << target;
    ++from;
  }
}

TEST(Targets, ForcingForces) {
  const std::string before(active_target());
  for (const std::string_view target : targets()) {
    const ForcedTarget forced(target);
    EXPECT_EQ(active_target(), target);
    EXPECT_EQ(&active_table(), table_of(target));
  }
  EXPECT_EQ(active_target(), before);
}

TEST(Targets, UnknownNamesAreRefusedAndChangeNothing) {
  const ForcedTarget forced("reference");
  for (const std::string_view unknown : {"", "AVX2", "avx", "avx1024", "reference ", "scalar"}) {
    EXPECT_TRUE(is_invalid(force_target(unknown), "reference")) << unknown;
    EXPECT_EQ(active_target(), "reference");
  }
}

TEST(Targets, EachHasATableOfItsOwn) {
  std::set<const Table*> tables;
  for (const std::string_view target : targets()) tables.insert(table_of(target));
  EXPECT_EQ(tables.size(), targets().size());
}

/// What a process of its own has active when DEQUANT_FORCE_TARGET says `value`.
void expect_environment_selects(const std::string& value, std::string_view want) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts this program anew
  ASSERT_EQ(setenv("DEQUANT_FORCE_TARGET", value.c_str(), 1), 0);
  EXPECT_EXIT(std::exit(active_target() == want ? 0 : 1), ::testing::ExitedWithCode(0), "")
      << value;
  ASSERT_EQ(unsetenv("DEQUANT_FORCE_TARGET"), 0);
}

TEST(TargetsDeathTest, TheEnvironmentForcesATargetAndUnknownNamesInItAreIgnored) {
  if (std::getenv("DEQUANT_FORCE_TARGET") != nullptr) GTEST_SKIP() << "a target is forced already";
  for (const std::string_view target : targets()) {
    expect_environment_selects(std::string(target), target);
  }
  expect_environment_selects("no such target", targets().front());
  expect_environment_selects("", targets().front());
}

}  // namespace
}  // namespace dequant::targets_test
