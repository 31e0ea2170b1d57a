// Files that appear whole or not at all.
#include "format/io/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "format/npy/scratch.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using ::testing::ElementsAre;
using testing::fails;
using ::testing::IsEmpty;
using testing::Scratch;
using testing::succeeds;

class OutputFileTest : public ::testing::Test {
 protected:
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string path(const std::string& name = "out") const { return scratch_.path(name); }

  Scratch scratch_;
};

TEST_F(OutputFileTest, AppearsWithItsCommitAndNotBefore) {
  auto out = OutputFile::create(path(), Overwrite::refuse).value();
  EXPECT_TRUE(succeeds(out.write("first ")));
  EXPECT_TRUE(succeeds(out.write("second")));
  EXPECT_EQ(out.size(), 12);
  EXPECT_FALSE(out.in_place());
  EXPECT_THAT(listing(), IsEmpty());
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_TRUE(out.in_place());
  EXPECT_THAT(listing(), ElementsAre("out"));
  EXPECT_EQ(scratch_.read("out"), "first second");
}

TEST_F(OutputFileTest, LeavesNothingWithoutACommit) {
  {
    auto out = OutputFile::create(path(), Overwrite::replace).value();
    EXPECT_TRUE(succeeds(out.write("x")));
    const OutputFile moved(std::move(out));
    EXPECT_EQ(moved.size(), 1);
  }
  EXPECT_THAT(listing(), IsEmpty());
}

TEST_F(OutputFileTest, WhatIsLeftMayBeWrittenInAnyOrder) {
  auto out = OutputFile::create(path(), Overwrite::refuse).value();
  EXPECT_TRUE(succeeds(out.write("<")));
  EXPECT_EQ(out.leave(6), 1);
  EXPECT_EQ(out.size(), 7);
  EXPECT_TRUE(succeeds(out.write(">")));
  const std::string_view text = "abcdef";
  for (const size_t at : {4u, 0u, 2u}) {
    const auto part = std::as_bytes(std::span(text.substr(at, 2)));
    EXPECT_TRUE(succeeds(out.write_at(1 + static_cast<int64_t>(at), part)));
  }
  EXPECT_EQ(out.size(), 8);
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(scratch_.read("out"), "<abcdef>");
}

TEST_F(OutputFileTest, FlushingEarlyChangesNothing) {
  auto out = OutputFile::create(path(), Overwrite::refuse).value();
  const std::string text(size_t{5} << 20, 'x');
  for (int i = 0; i < 13; ++i) EXPECT_TRUE(succeeds(out.write(text)));  // 65 MiB: two steps
  out.start_flush(0, out.size());
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(std::filesystem::file_size(path()), 13 * text.size());
  EXPECT_EQ(scratch_.read("out").find_first_not_of('x'), std::string::npos);
}

TEST_F(OutputFileTest, AnOutputInMemoryHasNoFile) {
  std::string memory = "........";
  auto out = OutputFile::in_memory(std::as_writable_bytes(std::span(memory)));
  EXPECT_TRUE(succeeds(out.reserve(8)));
  EXPECT_TRUE(succeeds(out.write("ab")));
  EXPECT_EQ(out.leave(4), 2);
  EXPECT_TRUE(succeeds(out.write("gh")));
  EXPECT_TRUE(succeeds(out.write_at(2, std::as_bytes(std::span("cdef", 4)))));
  out.start_flush(0, 8);
  EXPECT_EQ(out.size(), 8);
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(memory, "abcdefgh");
  EXPECT_TRUE(fails(out.write("i"), ErrorCode::io, "no room for 1 bytes at byte 8 of the 8"));
  EXPECT_THAT(listing(), IsEmpty());
}

TEST_F(OutputFileTest, AnEmptyFileIsAFile) {
  EXPECT_TRUE(succeeds(OutputFile::create(path(), Overwrite::refuse).value().commit()));
  EXPECT_THAT(listing(), ElementsAre("out"));
}

TEST_F(OutputFileTest, RefusesToReplaceUnlessTold) {
  scratch_.write("out", "old");
  EXPECT_TRUE(fails(OutputFile::create(path(), Overwrite::refuse), ErrorCode::io, "out exists"));
  EXPECT_EQ(scratch_.read("out"), "old");

  auto out = OutputFile::create(path(), Overwrite::replace).value();
  EXPECT_TRUE(succeeds(out.write("new")));
  EXPECT_EQ(scratch_.read("out"), "old");
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(scratch_.read("out"), "new");
  EXPECT_THAT(listing(), ElementsAre("out"));
}

TEST_F(OutputFileTest, RefusesARivalThatCameMeanwhile) {
  auto out = OutputFile::create(path(), Overwrite::refuse).value();
  EXPECT_TRUE(succeeds(out.write("mine")));
  scratch_.write("out", "theirs");
  EXPECT_TRUE(fails(out.commit(), ErrorCode::io, "exists"));
  EXPECT_FALSE(out.in_place());
  EXPECT_EQ(scratch_.read("out"), "theirs");
}

TEST_F(OutputFileTest, AReplacedFileStaysWholeForWhoeverHasItOpen) {
  scratch_.write("out", "old");
  const auto reader = InputFile::open(path()).value();
  auto out = OutputFile::create(path(), Overwrite::replace).value();
  EXPECT_TRUE(succeeds(out.write("new")));
  EXPECT_TRUE(succeeds(out.commit()));
  std::string seen(3, '?');
  EXPECT_TRUE(succeeds(reader.read(0, std::as_writable_bytes(std::span(seen)))));
  EXPECT_EQ(seen, "old");
}

TEST_F(OutputFileTest, ReplacesNothingButRegularFiles) {
  scratch_.write("other", "old");
  std::filesystem::create_directory(path("folder"));
  ASSERT_EQ(::symlink("other", path("link").c_str()), 0);
  ASSERT_EQ(::symlink("missing", path("dangling").c_str()), 0);
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const auto before = listing();
  for (const std::string name : {"folder", "link", "dangling", "fifo"}) {
    for (const Overwrite overwrite : {Overwrite::refuse, Overwrite::replace}) {
      EXPECT_TRUE(fails(OutputFile::create(path(name), overwrite), ErrorCode::io, "regular file"));
    }
  }
  EXPECT_TRUE(fails(OutputFile::create("/dev/null", Overwrite::replace), ErrorCode::io, "regular"));
  EXPECT_EQ(scratch_.read("other"), "old");
  EXPECT_EQ(listing(), before);
}

TEST_F(OutputFileTest, AFolderThatCameMeanwhileStays) {
  auto out = OutputFile::create(path(), Overwrite::replace).value();
  std::filesystem::create_directory(path());
  EXPECT_TRUE(fails(out.commit(), ErrorCode::io, "cannot create"));
  EXPECT_TRUE(std::filesystem::is_directory(path()));
}

TEST_F(OutputFileTest, ALinkThatCameMeanwhileIsReplacedAndNotItsTarget) {
  scratch_.write("other", "old");
  auto out = OutputFile::create(path(), Overwrite::replace).value();
  EXPECT_TRUE(succeeds(out.write("new")));
  ASSERT_EQ(::symlink("other", path().c_str()), 0);
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(scratch_.read("other"), "old");
  EXPECT_TRUE(std::filesystem::is_regular_file(std::filesystem::symlink_status(path())));
}

TEST_F(OutputFileTest, NamesThatAreNoFilesAreRefused) {
  for (const std::string& name : {std::string(), path(""), path("") + "/", path("."), path("..")}) {
    EXPECT_FALSE(OutputFile::create(name, Overwrite::replace)) << name;
  }
  EXPECT_TRUE(fails(OutputFile::create(path("missing/out"), Overwrite::replace), ErrorCode::io,
                    "missing: No such file"));
  scratch_.write("file", "");
  EXPECT_TRUE(
      fails(OutputFile::create(path("file/out"), Overwrite::replace), ErrorCode::io, "file"));
}

TEST_F(OutputFileTest, TheLongestNameIsNotTooLongForTheTemporaryOne) {
  scratch_.write(std::string(255, 'x'), "old");
  auto out = OutputFile::create(path(std::string(255, 'x')), Overwrite::replace).value();
  EXPECT_TRUE(succeeds(out.write("new")));
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(scratch_.read(std::string(255, 'x')), "new");
}

TEST_F(OutputFileTest, TwoFilesComeToStandTogether) {
  auto model = OutputFile::create(path(), Overwrite::refuse).value();
  auto data = OutputFile::create_beside(model, "data").value();
  EXPECT_TRUE(succeeds(model.write("model")));
  EXPECT_TRUE(succeeds(data.write("data")));
  EXPECT_THAT(listing(), IsEmpty());
  EXPECT_TRUE(OutputFile::commit_both(data, model).value());
  EXPECT_TRUE(data.in_place() && model.in_place());
  EXPECT_THAT(listing(), ElementsAre("data", "out"));
}

TEST_F(OutputFileTest, ANameThatIsTakenMeanwhileMayBeExchanged) {
  auto model = OutputFile::create(path(), Overwrite::refuse).value();
  auto data = OutputFile::create_beside(model, "data").value();
  EXPECT_TRUE(succeeds(data.write("mine")));
  EXPECT_TRUE(succeeds(model.write("names data")));
  scratch_.write("data", "theirs");
  EXPECT_FALSE(OutputFile::commit_both(data, model).value());
  EXPECT_FALSE(data.in_place() || model.in_place());
  EXPECT_THAT(listing(), ElementsAre("data"));

  data.rename("other");
  EXPECT_TRUE(succeeds(model.clear()));
  EXPECT_EQ(model.size(), 0);
  EXPECT_TRUE(succeeds(model.write("other")));
  EXPECT_TRUE(OutputFile::commit_both(data, model).value());
  EXPECT_EQ(scratch_.read("data"), "theirs");
  EXPECT_EQ(scratch_.read("other"), "mine");
  EXPECT_EQ(scratch_.read("out"), "other");
}

TEST_F(OutputFileTest, WithoutTheSecondFileTheFirstDoesNotStay) {
  auto model = OutputFile::create(path(), Overwrite::refuse).value();
  auto data = OutputFile::create_beside(model, "data").value();
  scratch_.write("out", "theirs");
  EXPECT_TRUE(fails(OutputFile::commit_both(data, model), ErrorCode::io, "out exists"));
  EXPECT_FALSE(data.in_place());
  EXPECT_THAT(listing(), ElementsAre("out"));
}

TEST_F(OutputFileTest, PermissionsOfAReplacedFileAreKept) {
  scratch_.write("out", "old");
  const auto mode_of = [&](const std::string& name) {
    struct stat s {};
    EXPECT_EQ(::stat(path(name).c_str(), &s), 0);
    return s.st_mode & 07777;
  };
  for (const mode_t mode : {0600u, 0644u, 0u, 0777u}) {
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    auto model = OutputFile::create(path(), Overwrite::replace).value();
    auto data = OutputFile::create_beside(model, "data").value();
    EXPECT_TRUE(OutputFile::commit_both(data, model).value());
    EXPECT_EQ(mode_of("out"), mode);
    EXPECT_EQ(mode_of("data"), mode);
    std::filesystem::remove(path("data"));
  }
}

TEST_F(OutputFileTest, AFolderIsCheckedWithoutATrace) {
  scratch_.write("out", "old");
  EXPECT_TRUE(succeeds(OutputFile::check_folder(path())));
  EXPECT_TRUE(succeeds(OutputFile::check_folder(path("new"))));
  EXPECT_TRUE(fails(OutputFile::check_folder(path("missing/out")), ErrorCode::io, "missing"));
  EXPECT_TRUE(fails(OutputFile::check_folder(path("..")), ErrorCode::io, "no file name"));
  EXPECT_THAT(listing(), ElementsAre("out"));
}

TEST_F(OutputFileTest, ReservingMakesNoFileLonger) {
  auto out = OutputFile::create(path(), Overwrite::refuse).value();
  EXPECT_TRUE(succeeds(out.reserve(1 << 20)));
  EXPECT_TRUE(succeeds(out.reserve(0)));
  EXPECT_TRUE(succeeds(out.write("x")));
  EXPECT_TRUE(succeeds(out.commit()));
  EXPECT_EQ(std::filesystem::file_size(path()), 1u);
}

TEST_F(OutputFileTest, MoreThanThereIsRoomForIsFoundWhenItIsReserved) {
  auto out = OutputFile::create(path(), Overwrite::refuse).value();
  const Status reserved = out.reserve(int64_t{1} << 60);
  EXPECT_TRUE(fails(reserved, ErrorCode::io, "1152921504606846976 bytes are needed and "));
  EXPECT_EQ(reserved.error().system, ENOSPC);
}

}  // namespace
}  // namespace dequant::format
