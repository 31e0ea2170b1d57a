// Which share a process carries out, by the variables of schedulers.
#include "format/model/share_environment.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace dequant::format {
namespace {

using Variables = std::map<std::string, std::string>;

Result<ShareNumber> share(const Variables& variables) {
  return share_of_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

void expect(const Variables& variables, int64_t index, int64_t count) {
  const auto got = share(variables);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(*got, (ShareNumber{index, count}));
}

void refused(const Variables& variables, const std::string& words) {
  const auto got = share(variables);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(got.error().message.find(words), std::string::npos) << got.error().message;
}

TEST(ShareEnvironment, EachScheduler) {
  expect({{"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_ARRAY_TASK_COUNT", "8"}}, 3, 8);
  expect({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_ID", "0"}}, 1, 4);
  expect({{"RANK", "15"}, {"WORLD_SIZE", "16"}}, 15, 16);
  expect({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, 0, 2);
  expect({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}}, 2, 3);
  expect({{"JOB_COMPLETION_INDEX", "4"}, {"JOB_COMPLETION_COUNT", "5"}}, 4, 5);
}

TEST(ShareEnvironment, ArraysThatDoNotBeginWithZero) {
  const auto array = [](const char* id, const char* count, const char* first, const char* step) {
    return Variables{{"SLURM_ARRAY_TASK_ID", id},
                     {"SLURM_ARRAY_TASK_COUNT", count},
                     {"SLURM_ARRAY_TASK_MIN", first},
                     {"SLURM_ARRAY_TASK_STEP", step}};
  };
  expect(array("1", "8", "1", "1"), 0, 8);
  expect(array("8", "8", "1", "1"), 7, 8);
  expect(array("9", "4", "3", "2"), 3, 4);
  expect(array("5", "1", "5", "1"), 0, 1);  // one task of an array again
  refused(array("4", "4", "3", "2"), "steps of 2");
  refused(array("2", "4", "3", "1"), "which is not 3");
  refused(array("9", "3", "1", "1"), "share 8 of 3");  // an array such as 1,5,9
  refused(array("1", "8", "1", "0"), "steps of 0");
}

TEST(ShareEnvironment, TheScriptOfABatchJobHasNoShare) {
  refused({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}, "none of");
  expect({{"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "4"},
          {"OMPI_COMM_WORLD_RANK", "3"},
          {"OMPI_COMM_WORLD_SIZE", "4"}},
         3, 4);
}

TEST(ShareEnvironment, TwoThatAgreeAndTwoThatDoNot) {
  const Variables torchrun{{"RANK", "1"}, {"WORLD_SIZE", "4"}};
  Variables both = torchrun;
  both.insert({{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}});
  expect(both, 1, 4);
  both["PMI_RANK"] = "2";
  refused(both, "torchrun says share 1/4, and PMI says 2/4");
  Variables in_array = torchrun;  // an array of jobs, each with four processes
  in_array.insert({{"SLURM_ARRAY_TASK_ID", "0"}, {"SLURM_ARRAY_TASK_COUNT", "2"}});
  refused(in_array, "$RANK/$WORLD_SIZE");
}

TEST(ShareEnvironment, OneOfOneSaysNothing) {
  expect({{"SLURM_ARRAY_TASK_ID", "3"},
          {"SLURM_ARRAY_TASK_COUNT", "8"},
          {"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "1"},
          {"SLURM_STEP_ID", "0"}},
         3, 8);
  expect({{"SLURM_PROCID", "0"},
          {"SLURM_NTASKS", "1"},
          {"SLURM_STEP_ID", "0"},
          {"RANK", "1"},
          {"WORLD_SIZE", "2"}},
         1, 2);
  expect({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, 0, 1);
}

TEST(ShareEnvironment, WhatIsNoNumber) {
  refused({{"RANK", "x"}, {"WORLD_SIZE", "4"}}, "RANK is \"x\"");
  refused({{"RANK", ""}, {"WORLD_SIZE", "4"}}, "RANK is \"\"");
  refused({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}, "RANK is \"-1\"");
  refused({{"RANK", "4"}, {"WORLD_SIZE", "4"}}, "share 4 of 4");
  refused({{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "share 0 of 0");
  refused({{"JOB_COMPLETION_INDEX", "1"}}, "JOB_COMPLETION_COUNT is not");
  refused({}, "none of SLURM_ARRAY_TASK_ID, SLURM_PROCID with SLURM_STEP_ID, RANK");
}

}  // namespace
}  // namespace dequant::format
