// Patterns of module names: the expected answers are those of Python's re.match and fnmatch.
#include "format/checkpoint/patterns.h"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.h"

namespace dequant::format::checkpoint {
namespace {

using testing::succeeds;

/// What one pattern says of a name.
bool matches(bool (Patterns::*add)(std::string_view), std::string_view text,
             std::string_view name) {
  Patterns patterns;
  EXPECT_TRUE((patterns.*add)(text)) << text;
  EXPECT_TRUE(succeeds(patterns.compile()));
  return patterns.matches(name);
}

bool can_add(bool (Patterns::*add)(std::string_view), std::string_view text) {
  Patterns patterns;
  return (patterns.*add)(text);
}

struct Case {
  const char* pattern;
  std::string name;
  bool matches;
};

TEST(Patterns, RegularExpressionsMatchFromTheStartAsInPython) {
  const Case cases[]{
      {R"(.*q_proj$)", "model.layers.0.self_attn.q_proj", true},
      {R"(.*q_proj$)", "q_proj.x", false},
      {R"(.*self_attn.(q|k|v|o)_proj$)", "m.self_attn.k_proj", true},
      {R"(.*self_attn.(q|k|v|o)_proj$)", "m.self_attn.g_proj", false},
      {R"(.*self_attn.(q|k|v|o)_proj$)", "self_attnXq_proj", true},
      {R"(visual.*)", "visual.blocks.0", true},
      {R"(visual.*)", "model.visual", false},
      {R"(model\.layers\.\d+\.mlp\.(?:gate|up)_proj)", "model.layers.17.mlp.up_proj", true},
      {R"(model\.layers\.\d+\.mlp\.(?:gate|up)_proj)", "model.layers.17.mlp.up_proj.lora", true},
      {R"(model\.layers\.\d+\.mlp\.(?:gate|up)_proj)", "model.layers.x.mlp.up_proj", false},
      {R"((a|bc)*d)", "d", true},
      {R"((a|bc)*d)", "abcad", true},
      {R"((a|bc)*d)", "abcab", false},
      {R"(a{2,3}b)", "ab", false},
      {R"(a{2,3}b)", "aab", true},
      {R"(a{2,3}b)", "aaab", true},
      {R"(a{2,3}b)", "aaaab", false},
      {R"(a{2})", "a", false},
      {R"(a{2})", "aa", true},
      {R"(a{1,}b)", "b", false},
      {R"(a{1,}b)", "aaab", true},
      {R"([a-c_]+x)", "a_cx", true},
      {R"([a-c_]+x)", "dx", false},
      {R"([^.]*\.w)", "abc.w", true},
      {R"([^.]*\.w)", "a.b.w", false},
      {R"([]a]b)", "]b", true},
      {R"([]a]b)", "cb", false},
      {R"(a+?b??c)", "aac", true},
      {R"(a+?b??c)", "abbc", false},
      {R"(^ab$)", "ab", true},
      {R"(^ab$)", "abc", false},
      {R"(()x)", "x", true},
      {R"(a||b)", "", true},
      {R"(a||b)", "zz", true},
      {R"(\w\W\s?\S)", "a- b", true},
      {R"(\w\W\s?\S)", "aab", false},
      {R"((?:(a)|b)+c)", "abac", true},
      {R"((?:(a)|b)+c)", "c", false},
      {R"(.)", "", false},
      {R"(.)", "\n", false},
      {R"()", "anything", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(matches(&Patterns::add_regex, c.pattern, c.name), c.matches)
        << c.pattern << " on " << c.name;
  }
}

TEST(Patterns, SearchesFindAnyPartOfANameAsInPython) {
  const Case cases[]{
      {R"(mlp\.up)", "model.mlp.up_proj", true},
      {R"(mlp\.up)", "model.mlpXup_proj", false},
      {R"(^mlp)", "model.mlp", false},
      {R"(^mlp)", "mlp.x", true},
      {R"(up|down$)", "a.down", true},
      {R"(up|down$)", "a.down.b", false},
      {R"(up|down$)", "a.up.b", true},
      {R"(b)", "a\nb", true},
      {R"((?i)UP)", "a.up", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(matches(&Patterns::add_search, c.pattern, c.name), c.matches)
        << c.pattern << " " << c.name;
  }
  for (const char* text : {"a)|(b", "(?!x)", "a{,2}", "["})
    EXPECT_FALSE(can_add(&Patterns::add_search, text)) << text;
}

TEST(Patterns, WildcardsMatchWholeNamesAsInPython) {
  const Case cases[]{
      {"model.layers.0.self_attn*", "model.layers.0.self_attn.q_proj", true},
      {"model.layers.0.self_attn*", "model.layers.0.self_attn", true},
      {"model.layers.0.self_attn*", "xmodel.layers.0.self_attn", false},
      {"*lm_head", "a.lm_head", true},
      {"*lm_head", "lm_head.x", false},
      {"lm_hea?", "lm_head", true},
      {"lm_hea?", "lm_hea", false},
      {"l[ab]*", "lbcd", true},
      {"l[ab]*", "lc", false},
      {"l[!ab]", "lc", true},
      {"l[!ab]", "la", false},
      {"l[a-c]x", "lbx", true},
      {"l[a-c]x", "ldx", false},
      {"l[x", "l[x", true},
      {"l[]x]m", "l]m", true},
      {"l[!]]m", "l]m", false},
      {R"(l[\^]m)", "l^m", true},
      {R"(l\d)", R"(l\d)", true},
      {"l[[]m", "l[m", true},
      {"a.b", "axb", false},
      {"*", "", true},
      {"*", "x\ny", true},
      {"a**b", "acb", true},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(matches(&Patterns::add_wildcard, c.pattern, c.name), c.matches)
        << c.pattern << " on " << c.name;
  }
}

TEST(Patterns, SyntaxThatRe2DoesNotHaveOrReadsInAnotherWayIsNotGuessed) {
  for (const char* text : {"(?!a)", "(?=a)", "(?<!a)b", R"((a)\1)", R"(a\Z)", "a*+", "(a", "a)",
                           "*a", "a**", "a{3,2}", "[a", "[b-a]", "\\", "a{,2}b", "[[:alpha:]]"}) {
    EXPECT_FALSE(can_add(&Patterns::add_regex, text)) << text;
  }
  EXPECT_FALSE(can_add(&Patterns::add_regex, "((a{1000}){1000}){1000}"));
  EXPECT_FALSE(can_add(&Patterns::add_wildcard, "l[b-a]"));
}

TEST(Patterns, AnyOfManyPatternsMatches) {
  Patterns patterns;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(patterns.add_wildcard("model.layers." + std::to_string(i) + ".self_attn*"));
  }
  ASSERT_TRUE(patterns.add_regex("lm_head"));
  EXPECT_FALSE(patterns.add_regex("(?!x)"));
  ASSERT_TRUE(succeeds(patterns.compile()));
  EXPECT_TRUE(patterns.matches("model.layers.999.self_attn.q_proj"));
  EXPECT_TRUE(patterns.matches("lm_head.0"));
  EXPECT_FALSE(patterns.matches("model.layers.1000.self_attn"));
  EXPECT_FALSE(patterns.matches("x"));
}

TEST(Patterns, NoPatternMatchesNoName) {
  Patterns patterns;
  EXPECT_TRUE(succeeds(patterns.compile()));
  EXPECT_FALSE(patterns.matches(""));
}

TEST(Patterns, HaveLimitedMemory) {
  Patterns patterns;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(patterns.add_regex(std::to_string(i) + "[a-z]{1000}"));
  }
  const Status status = patterns.compile();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::limit);
}

// A backtracking matcher needs 2^1000 attempts.
TEST(Patterns, TakeTimeInProportionToTheName) {
  const std::string name(1000, 'a');
  EXPECT_FALSE(matches(&Patterns::add_regex, "(a*)*(a|aa)+b", name));
  EXPECT_TRUE(matches(&Patterns::add_regex, "(a*)*(a|aa)+b", name + "b"));
}

}  // namespace
}  // namespace dequant::format::checkpoint
