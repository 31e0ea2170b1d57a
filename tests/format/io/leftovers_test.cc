// What dead runs have left goes, and nothing else.
#include "format/io/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/io/file.h"
#include "format/io/temporary.h"
#include "format/npy/scratch.h"
#include "support/expect_error.h"

#include <fcntl.h>

namespace dequant::format {
namespace {

using ::testing::ElementsAre;
using testing::fails;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Scratch;

class LeftoversTest : public ::testing::Test {
 protected:
  std::vector<Leftover> sweep(Removal removal = Removal::done) {
    return remove_leftovers(scratch_.path(), removal).value();
  }
  bool stays(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(scratch_.path(name)));
  }
  /// As if nothing had been written for so many seconds.
  void age(const std::string& name, time_t seconds) const {
    const timespec then{::time(nullptr) - seconds, 0};
    const timespec times[] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, scratch_.path(name).c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
  }
  static std::string of_another_start() {
    std::string name = temporary_name(Locking::held);
    char& digit = name[std::string_view(".dq-tmp-").size()];
    digit = digit == '0' ? '1' : '0';
    return name;
  }

  Scratch scratch_;
};

TEST_F(LeftoversTest, NamesAreTakenApart) {
  const std::string name = temporary_name(Locking::held);
  EXPECT_EQ(start_in(name), start_of_system());
  EXPECT_NE(name, temporary_name(Locking::held));
  EXPECT_EQ(start_in(temporary_name(Locking::impossible)), "");
  for (std::string other :
       {std::string(), std::string(".dq-tmp-"), name + "0", name + ".npy", name.substr(1),
        "x" + name, std::string(".dq-tmp-0"), name.substr(0, 24), name.substr(0, 25),
        std::string(".dq-tmp-0123456789abcdeF"), std::string(".DQ-tmp-0123456789abcdef")}) {
    if (other == name.substr(0, 24)) continue;  // a name of the second form
    EXPECT_EQ(start_in(other), std::nullopt) << other;
  }
}

TEST_F(LeftoversTest, DeadFilesGo) {
  const std::string name = temporary_name(Locking::held);
  scratch_.write(name, "12345");
  EXPECT_THAT(sweep(Removal::pretended), ElementsAre(::testing::FieldsAre(name, 5, "")));
  EXPECT_TRUE(stays(name));
  EXPECT_THAT(sweep(), ElementsAre(::testing::FieldsAre(name, 5, "")));
  EXPECT_FALSE(stays(name));
  EXPECT_THAT(sweep(), IsEmpty());
}

TEST_F(LeftoversTest, LockedFilesStayUntilTheirWriterEnds) {
  const std::string name = temporary_name(Locking::held);
  scratch_.write(name, "");
  age(name, 1000000);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const Descriptor file(::open(scratch_.path(name).c_str(), O_RDWR));
    const char done = lock(file.get()) ? 'y' : 'n';
    if (::write(ready[1], &done, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char done = 0;
  ASSERT_EQ(::read(ready[0], &done, 1), 1);
  ASSERT_EQ(done, 'y');
  EXPECT_THAT(sweep().at(0).kept, HasSubstr("a run is writing it"));
  EXPECT_TRUE(stays(name));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(sweep().at(0).kept, "");
  EXPECT_FALSE(stays(name));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(LeftoversTest, OfAnotherMachineTheyStayForADay) {
  const std::string fresh = of_another_start();
  const std::string old = of_another_start();
  scratch_.write(fresh, "");
  scratch_.write(old, "");
  age(fresh, 80000);
  age(old, 90000);
  sweep();
  EXPECT_TRUE(stays(fresh));
  EXPECT_FALSE(stays(old));
}

TEST_F(LeftoversTest, WithoutLocksNothingIsKnown) {
  const std::string name = temporary_name(Locking::impossible);
  scratch_.write(name, "");
  age(name, 1000000);
  EXPECT_THAT(sweep().at(0).kept, HasSubstr("nothing tells"));
  EXPECT_TRUE(stays(name));
}

TEST_F(LeftoversTest, OnlyRegularFilesOfThisUserGo) {
  std::vector<std::string> names;
  for (int i = 0; i < 5; ++i) names.push_back(temporary_name(Locking::held));
  scratch_.write("mine", "data");
  std::filesystem::create_directory(scratch_.path(names[0]));
  ASSERT_EQ(::symlink("mine", scratch_.path(names[1]).c_str()), 0);
  ASSERT_EQ(::symlink("missing", scratch_.path(names[2]).c_str()), 0);
  ASSERT_EQ(::mkfifo(scratch_.path(names[3]).c_str(), 0600), 0);
  scratch_.write(names[4], "");
  const bool other_user = ::chown(scratch_.path(names[4]).c_str(), 12345, gid_t(-1)) == 0;
  for (const Leftover& found : sweep()) {
    EXPECT_EQ(found.kept.empty(), found.name == names[4] && !other_user) << found.name;
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(stays(names[i])) << i;
  EXPECT_EQ(stays(names[4]), other_user);
  EXPECT_EQ(scratch_.read("mine"), "data");
}

TEST_F(LeftoversTest, NamesThatOnlyLookAlikeStay) {
  const std::string name = temporary_name(Locking::held);
  const std::vector<std::string> others{
      ".dq-tmp-",    ".dq-tmp-0",     ".dq-tmp-" + std::string(33, '0'),
      name + ".npy", "copy" + name,   name + "~",
      "out.onnx",    "out.onnx.data", ".dq-tmp-" + name.substr(8, 16) + "-"};
  for (const std::string& other : others) scratch_.write(other, "");
  EXPECT_THAT(sweep(), IsEmpty());
  for (const std::string& other : others) EXPECT_TRUE(stays(other)) << other;
}

TEST_F(LeftoversTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_TRUE(fails(remove_leftovers(scratch_.path("missing"), Removal::done), ErrorCode::io,
                    "missing: No such file"));
}

}  // namespace
}  // namespace dequant::format
