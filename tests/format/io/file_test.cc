// Reading files by position.
#include "format/io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "format/io/range_text.h"
#include "format/npy/scratch.h"
#include "support/expect_error.h"

namespace dequant::format {
namespace {

using testing::fails;
using testing::range_text;
using testing::Scratch;
using testing::succeeds;

TEST(InputFileTest, ReadsAnyRange) {
  const Scratch scratch;
  const auto file = InputFile::open(scratch.write("f", "0123456789")).value();
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(range_text(file, 0, 10), "0123456789");
  EXPECT_EQ(range_text(file, 7, 3), "789");
  EXPECT_EQ(range_text(file, 3, 0), "");
  EXPECT_EQ(range_text(file, 10, 0), "");
}

TEST(InputFileTest, AFileThatEndsTooEarlyHasChanged) {
  const Scratch scratch;
  const std::string path = scratch.write("f", "0123456789");
  const auto file = InputFile::open(path).value();
  ASSERT_EQ(::truncate(path.c_str(), 4), 0);
  std::byte out[6];
  EXPECT_TRUE(fails(file.read(2, out), ErrorCode::malformed, "changed while being read"));
  EXPECT_TRUE(fails(file.read(8, out), ErrorCode::malformed, "has no 6 bytes from byte 8 on"));
}

TEST(InputFileTest, NoticesThatAFileChanged) {
  const Scratch scratch;
  const std::string path = scratch.write("f", "0123456789");
  const auto file = InputFile::open(path).value();
  EXPECT_TRUE(succeeds(file.check_unchanged()));
  const timespec long_ago[2]{{1, 0}, {1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago, 0), 0);
  EXPECT_TRUE(fails(file.check_unchanged(), ErrorCode::malformed, "changed"));
}

TEST(InputFileTest, AReplacedFileIsStillTheOneThatWasOpened) {
  const Scratch scratch;
  const std::string path = scratch.write("f", "old");
  const auto file = InputFile::open(path).value();
  ASSERT_EQ(::rename(scratch.write("g", "new").c_str(), path.c_str()), 0);
  EXPECT_EQ(range_text(file, 0, 3), "old");
  EXPECT_TRUE(succeeds(file.check_unchanged()));
}

TEST(InputFileTest, OpensOnlyRegularFiles) {
  const Scratch scratch;
  ASSERT_EQ(::mkfifo(scratch.path("fifo").c_str(), 0600), 0);  // and does not wait for a writer
  for (const std::string& path : {scratch.path("fifo"), scratch.path(), std::string("/dev/zero")}) {
    EXPECT_TRUE(fails(InputFile::open(path), ErrorCode::io, "not a regular file"));
  }
  EXPECT_TRUE(fails(InputFile::open(scratch.path("missing")), ErrorCode::io, "No such file"));
  EXPECT_TRUE(fails(InputFile::open(""), ErrorCode::io, "\"\" is no file name"));
  EXPECT_EQ(InputFile::open("").error().system, ENOENT);
}

TEST(InputFileTest, BytesInMemoryAreReadAsAFile) {
  const std::string bytes = "0123456789";
  const auto owner = std::make_shared<int>();
  {
    const auto file = InputFile::in_memory({std::as_bytes(std::span(bytes)), owner}, "<bytes>");
    EXPECT_EQ(file.name(), "<bytes>");
    EXPECT_EQ(file.size(), 10);
    EXPECT_EQ(range_text(file, 0, 10), "0123456789");
    EXPECT_EQ(range_text(file, 7, 3), "789");
    EXPECT_EQ(range_text(file, 10, 0), "");
    EXPECT_TRUE(succeeds(file.check_unchanged()));
    std::vector<std::byte> out(4);
    for (const int64_t offset : {7, 10, 11, 1 << 30})
      EXPECT_TRUE(fails(file.read(offset, out), ErrorCode::malformed, "<bytes> has no 4 bytes"));
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST(InputFileTest, BytesInMemoryAreNoFileOfTheSystem) {
  const Scratch scratch;
  const auto memory = InputFile::in_memory({}, "<bytes>");
  EXPECT_EQ(memory.size(), 0);
  EXPECT_FALSE(memory.identity().same_file(identity_of(scratch.write("f", ""))));
}

TEST(InputFileTest, MessagesShowPathsEscaped) {
  EXPECT_TRUE(fails(InputFile::open("no\nsuch"), ErrorCode::io, "no\\x0asuch"));
}

TEST(ReadSmallFileTest, ReadsUpToALimit) {
  const Scratch scratch;
  const std::string path = scratch.write("f", "0123456789");
  EXPECT_EQ(read_small_file(path, 10).value(), "0123456789");
  EXPECT_TRUE(fails(read_small_file(path, 9), ErrorCode::limit, "10 bytes"));
}

TEST(IdentityTest, IsThatOfTheFileALinkLeadsTo) {
  const Scratch scratch;
  const std::string path = scratch.write("f", "x");
  ASSERT_EQ(::symlink("f", scratch.path("soft").c_str()), 0);
  ASSERT_EQ(::link(path.c_str(), scratch.path("hard").c_str()), 0);
  EXPECT_TRUE(identity_of(scratch.path("soft")).same_file(identity_of(path)));
  EXPECT_TRUE(identity_of(scratch.path("hard")).same_file(identity_of(path)));
  EXPECT_FALSE(identity_of(scratch.write("g", "x")).same_file(identity_of(path)));
  EXPECT_EQ(identity_of(scratch.path("missing")).size, -1);
}

TEST(DescriptorTest, ClosesWhatItOwnsOnce) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    Descriptor a(ends[0]);
    Descriptor b(std::move(a));
    EXPECT_FALSE(a.valid());  // NOLINT: what moving leaves is what is tested
    a = std::move(b);
    EXPECT_EQ(a.get(), ends[0]);
    a = Descriptor(ends[1]);  // closes the first
    struct stat s {};
    EXPECT_NE(::fstat(ends[0], &s), 0);
    EXPECT_EQ(::fstat(ends[1], &s), 0);
  }
  struct stat s {};
  EXPECT_NE(::fstat(ends[1], &s), 0);
}

}  // namespace
}  // namespace dequant::format
