// What is found under a path, and in which order.
#include "conformance/cases/find.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/npy/scratch.h"
#include "support/expect_error.h"

namespace dequant::conformance {
namespace {

using ::testing::ElementsAre;
using testing::fails;
using testing::Scratch;

std::vector<std::string> paths(const Result<std::vector<Checkable>>& found,
                               const Scratch& scratch) {
  std::vector<std::string> out;
  if (!found) {
    out.push_back(found.error().message);
    return out;
  }
  for (const Checkable& checkable : *found) {
    const bool node = checkable.kind == Checkable::Kind::node_directory;
    out.push_back(checkable.path.substr(scratch.path().size() + 1) + (node ? " (node)" : ""));
  }
  return out;
}

TEST(FindCheckables, AFileIsACaseFileWhateverItsName) {
  const Scratch scratch;
  scratch.write("cases", "");
  EXPECT_THAT(paths(find_checkables(scratch.path("cases")), scratch), ElementsAre("cases"));
  // What is missing is found missing by the one who opens it.
  EXPECT_THAT(paths(find_checkables(scratch.path("none")), scratch), ElementsAre("none"));
}

TEST(FindCheckables, DirectoriesAreSearchedInTheOrderOfTheirNames) {
  const Scratch scratch;
  for (const char* name : {"b.json", "a.json", "c/d.json", "a/z.json", "c/text.txt", "c/model.onnx",
                           "n/model.onnx", "n/test_data_set_0/input_0.pb", "n/ignored.json"}) {
    scratch.write(name, "");
  }
  EXPECT_THAT(paths(find_checkables(scratch.path()), scratch),
              ElementsAre("a/z.json", "a.json", "b.json", "c/d.json", "n (node)"));
  EXPECT_THAT(paths(find_checkables(scratch.path("n")), scratch), ElementsAre("n (node)"));
  EXPECT_THAT(paths(find_checkables(scratch.path("n") + "/"), scratch), ElementsAre("n/ (node)"));
}

TEST(FindCheckables, ADirectoryWithNothingToCheckIsAnError) {
  const Scratch scratch;
  EXPECT_TRUE(
      fails(find_checkables(scratch.path()), ErrorCode::invalid_argument, "nothing to check"));
  scratch.write("test_data_set_0/input_0.pb", "");
  scratch.write("a.onnx", "");
  EXPECT_TRUE(
      fails(find_checkables(scratch.path()), ErrorCode::invalid_argument, "nothing to check"));
}

TEST(FindCheckables, LinksAreFollowedButNeverInCircles) {
  const Scratch scratch;
  scratch.write("a/one.json", "");
  std::filesystem::create_directory_symlink(scratch.path(), scratch.path("a/up"));
  std::filesystem::create_directory_symlink(scratch.path("a"), scratch.path("b"));
  std::filesystem::create_symlink("self", scratch.path("self"));
  EXPECT_THAT(paths(find_checkables(scratch.path()), scratch), ElementsAre("a/one.json"));
  EXPECT_THAT(paths(find_checkables(scratch.path("b")), scratch), ElementsAre("b/one.json"));
}

TEST(FindCheckables, ALongChainOfDirectoriesIsNoRecursion) {
  const Scratch scratch;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "d/";
  scratch.write(deep + "x.json", "");
  EXPECT_THAT(paths(find_checkables(scratch.path()), scratch), ElementsAre(deep + "x.json"));
}

TEST(NamesIn, SortsAndReportsWhatCannotBeRead) {
  const Scratch scratch;
  scratch.write("b", "");
  scratch.write("a/x", "");
  EXPECT_THAT(names_in(scratch.path()).value(), ElementsAre("a", "b"));
  EXPECT_TRUE(fails(names_in(scratch.path("none")), ErrorCode::io, "none"));
}

}  // namespace
}  // namespace dequant::conformance
