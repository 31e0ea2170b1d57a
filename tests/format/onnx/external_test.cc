// Files that a model may name, and those it may not.
#include "format/onnx/external.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/npy/scratch.h"
#include "support/expect_error.h"

namespace dequant::format::onnx {
namespace {

using testing::fails;
using testing::Scratch;
using testing::succeeds;

class OpenExternalTest : public ::testing::Test {
 protected:
  OpenExternalTest() {
    scratch_.write("model/m.onnx", "m");
    scratch_.write("model/w", "inside");
    scratch_.write("model/sub/w", "below");
    scratch_.write("secret", "secret");
  }

  /// What the file holds that the location leads to, or why it is not opened.
  std::string read(const std::string& location) const {
    const auto file = open_external(scratch_.path("model/m.onnx"), location);
    if (!file) {
      EXPECT_EQ(file.error().code, ErrorCode::io);
      return file.error().message;
    }
    std::string out(static_cast<size_t>(file->size()), '?');
    EXPECT_TRUE(succeeds(file->read(0, std::as_writable_bytes(std::span(out)))));
    return out;
  }

  void link(const std::string& target, const std::string& name) const {
    ASSERT_EQ(::symlink(target.c_str(), scratch_.path(name).c_str()), 0);
  }

  Scratch scratch_;
};

TEST_F(OpenExternalTest, OpensWhatLiesBelowTheModelsFolder) {
  EXPECT_EQ(read("w"), "inside");
  EXPECT_EQ(read("./w"), "inside");
  EXPECT_EQ(read("sub/w"), "below");
  EXPECT_EQ(read("sub//./w"), "below");
  for (const std::string name : {"weights..bin", "..data", "...", "a b", "~", "%2e%2e", "*", "-"}) {
    scratch_.write(std::string("model/") + name, name);
    EXPECT_EQ(read(name), name);
  }
}

TEST_F(OpenExternalTest, RefusesNamesThatLeadElsewhere) {
  const std::pair<std::string, const char*> names[]{
      {"", "is empty"},
      {std::string("w\0x", 3), "NUL"},
      {"/etc/passwd", "absolute"},
      {"//etc/passwd", "absolute"},
      {"..", "leaves"},
      {"../secret", "leaves"},
      {"sub/../../secret", "leaves"},
      {"sub/../w", "leaves"},
      {"sub/..", "leaves"},
      {".", "is a folder"},
      {"a\\..\\b", "backslash"},
      {"C:x", "drive"},
      {"*/_ORT_MEM_ADDR_/*", "memory"},
  };
  for (const auto& [name, why] : names) {
    EXPECT_TRUE(fails(check_location(name), ErrorCode::io, why)) << name;
    EXPECT_NE(read(name).find(why), std::string::npos) << name;
  }
}

TEST_F(OpenExternalTest, FollowsLinksThatStayInside) {
  link("w", "model/link");
  link("../w", "model/sub/up");
  link("sub", "model/again");
  EXPECT_EQ(read("link"), "inside");
  EXPECT_EQ(read("sub/up"), "inside");
  EXPECT_EQ(read("again/w"), "below");
}

TEST_F(OpenExternalTest, RefusesLinksThatLeadOut) {
  link("../secret", "model/relative");
  link(scratch_.path("secret"), "model/absolute");
  link("..", "model/parent");
  link("/", "model/root");
  for (const std::string name : {"relative", "absolute", "parent/secret", "root/etc/passwd"}) {
    EXPECT_NE(read(name).find("leaves the model's folder"), std::string::npos) << name;
  }
  link("loop", "model/loop");
  EXPECT_NE(read("loop").find("symbolic links"), std::string::npos);
  link("missing", "model/dangling");
  EXPECT_NE(read("dangling").find("No such file"), std::string::npos);
}

TEST_F(OpenExternalTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo(scratch_.path("model/fifo").c_str(), 0600), 0);
  EXPECT_NE(read("fifo").find("not a regular file"), std::string::npos);
  EXPECT_NE(read("sub").find("not a regular file"), std::string::npos);
  EXPECT_NE(read("w/").find("Not a directory"), std::string::npos);
}

TEST_F(OpenExternalTest, OpensTheCacheOfHuggingFace) {
  scratch_.write("blobs/m", "m");
  scratch_.write("blobs/d", "data");
  std::filesystem::create_directories(scratch_.path("snapshots/1"));
  link("../../blobs/m", "snapshots/1/m.onnx");
  link("../../blobs/d", "snapshots/1/d");
  link("../../secret", "snapshots/1/elsewhere");
  link("../../blobs", "snapshots/1/folder");
  const std::string model = scratch_.path("snapshots/1/m.onnx");
  EXPECT_EQ(open_external(model, "d").value().size(), 4);
  EXPECT_TRUE(fails(open_external(model, "elsewhere"), ErrorCode::io, "leaves"));
  EXPECT_TRUE(fails(open_external(model, "folder/d"), ErrorCode::io, "leaves"));
  // A model that is no link has nothing outside its folder.
  scratch_.write("snapshots/1/own.onnx", "m");
  EXPECT_TRUE(
      fails(open_external(scratch_.path("snapshots/1/own.onnx"), "d"), ErrorCode::io, "leaves"));
}

TEST_F(OpenExternalTest, KeepsAFileOpenForWhoeverHoldsIt) {
  ExternalFiles files(scratch_.path("model/m.onnx"));
  const auto first = files.open("w").value();
  EXPECT_EQ(files.open("w").value(), first);
  for (int i = 0; i < 100; ++i) {
    scratch_.write(fmt::format("model/f{}", i), "x");
    EXPECT_TRUE(succeeds(files.open(fmt::format("f{}", i))));
  }
  EXPECT_NE(files.open("w").value(), first);  // others came in between
  std::byte letter[1];
  EXPECT_TRUE(succeeds(first->read(0, letter)));
  EXPECT_TRUE(fails(files.open("../secret"), ErrorCode::io, "leaves"));
}

TEST_F(OpenExternalTest, AFileThatIsOpenedAgainMustBeTheSame) {
  ExternalFiles files(scratch_.path("model/m.onnx"));
  EXPECT_TRUE(succeeds(files.open("w")));
  for (int i = 0; i < 100; ++i) {
    scratch_.write(fmt::format("model/f{}", i), "x");
    EXPECT_TRUE(succeeds(files.open(fmt::format("f{}", i))));
  }
  EXPECT_TRUE(succeeds(files.open("w")));
  scratch_.write("model/new", "INSIDE");
  std::filesystem::rename(scratch_.path("model/new"), scratch_.path("model/w"));
  EXPECT_TRUE(succeeds(files.open("w")));  // is still open
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(succeeds(files.open(fmt::format("f{}", i))));
  EXPECT_TRUE(fails(files.open("w"), ErrorCode::malformed, "changed while being read"));
}

}  // namespace
}  // namespace dequant::format::onnx
