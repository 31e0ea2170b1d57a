// Node tests of ONNX: what counts as passed, failed, skipped, and as a broken directory.
#include "conformance/cases/node_dir.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "format/npy/npy_bytes.h"
#include "format/npy/scratch.h"
#include "format/onnx/evaluate.h"
#include "support/expect_error.h"

namespace dequant::conformance {

using format::TensorData;

namespace {

using protozero::pbf_writer;
using testing::bytes_of;
using testing::fails;
using testing::Scratch;
using testing::succeeds;

/// A model of one node with inputs x and x_scale and output y, all declared without shapes.
std::string model(const std::string& op_type) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int64(1, 10);  // ir_version
  {
    pbf_writer graph(out, 7);
    {
      pbf_writer node(graph, 1);
      node.add_string(1, "x");
      node.add_string(1, "x_scale");
      node.add_string(2, "y");
      node.add_string(4, op_type);
    }
    graph.add_string(2, "test");
    const auto value = [&](uint32_t field, const char* name, int32_t type) {
      pbf_writer info(graph, field);
      info.add_string(1, name);
      pbf_writer declared(info, 2);
      pbf_writer tensor(declared, 1);
      tensor.add_int32(1, type);
    };
    value(11, "x", 2);
    value(11, "x_scale", 1);
    value(12, "y", 1);
  }
  pbf_writer opset(out, 8);
  opset.add_int64(2, 21);
  return bytes;
}

class NodeDirTest : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.write("t/model.onnx", model("DequantizeLinear"));
    write_set("test_data_set_0", {2.0f, 4.0f});
  }

  /// A data set whose right y is 2, 4.
  void write_set(const std::string& set, const std::vector<float>& y) {
    put(set + "/input_0.pb", {Element::uint8, {2}, bytes_of<uint8_t>({1, 2})});
    put(set + "/input_1.pb", {Element::float32, {}, bytes_of<float>({2.0f})});
    put(set + "/output_0.pb", {Element::float32, {static_cast<int64_t>(y.size())}, bytes_of(y)});
  }

  void put(const std::string& file, TensorData data) {
    scratch_.write("t/" + file, format::onnx::tensor_pb({"", std::move(data)}));
  }

  Result<NodeDirOutcome> check() const { return check_node_directory(scratch_.path("t")); }

  Scratch scratch_;
};

TEST_F(NodeDirTest, PassesWhenEveryOutputHasTheExpectedBits) {
  const auto outcome = check();
  ASSERT_TRUE(succeeds(outcome));
  ASSERT_EQ(outcome->sets.size(), 1u);
  EXPECT_EQ(outcome->sets[0].verdict, Verdict::passed) << outcome->sets[0].reason;
  EXPECT_EQ(outcome->sets[0].name, "t/test_data_set_0");
}

TEST_F(NodeDirTest, AWrongBitFailsWithTheNameOfTheOutput) {
  write_set("test_data_set_0", {2.0f, 4.5f});
  const auto outcome = check();
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(outcome->sets[0].verdict, Verdict::failed);
  EXPECT_EQ(outcome->sets[0].reason,
            "y differs in 1 of 2 elements, first at [1]: 4 (0x40800000) where 4.5 (0x40900000) is "
            "expected");
}

TEST_F(NodeDirTest, DataSetsComeInTheOrderOfTheirNumbers) {
  for (const char* set : {"test_data_set_1", "test_data_set_10", "test_data_set_2"})
    write_set(set, {2.0f, 4.0f});
  write_set("test_data_set_2", {0.0f, 4.0f});
  const auto outcome = check();
  ASSERT_TRUE(succeeds(outcome));
  std::string names;
  for (const Outcome& set : outcome->sets) {
    names +=
        set.name.substr(set.name.rfind('_') + 1) + (set.verdict == Verdict::passed ? "+ " : "- ");
  }
  EXPECT_EQ(names, "0+ 1+ 2- 10+ ");
}

TEST_F(NodeDirTest, ModelsOfOtherOperatorsAreSkipped) {
  scratch_.write("t/model.onnx", model("Mul"));
  const auto outcome = check();
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(outcome->sets[0].verdict, Verdict::skipped);
  EXPECT_NE(outcome->sets[0].reason.find("Mul"), std::string::npos) << outcome->sets[0].reason;
}

TEST_F(NodeDirTest, AMissingInputFails) {
  std::filesystem::remove(scratch_.path("t/test_data_set_0/input_1.pb"));
  const auto outcome = check();
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(outcome->sets[0].verdict, Verdict::failed);
  EXPECT_NE(outcome->sets[0].reason.find("x_scale"), std::string::npos) << outcome->sets[0].reason;
}

TEST_F(NodeDirTest, AMissingOutputIsAnError) {
  std::filesystem::remove(scratch_.path("t/test_data_set_0/output_0.pb"));
  EXPECT_TRUE(fails(check(), ErrorCode::io, "output_0.pb"));
}

TEST_F(NodeDirTest, FilesBeyondTheGraphAreErrors) {
  put("test_data_set_0/input_2.pb", {Element::uint8, {}, bytes_of<uint8_t>({0})});
  EXPECT_TRUE(fails(check(), ErrorCode::malformed, "only 2 inputs"));
  std::filesystem::remove(scratch_.path("t/test_data_set_0/input_2.pb"));
  put("test_data_set_0/output_1.pb", {Element::uint8, {}, bytes_of<uint8_t>({0})});
  EXPECT_TRUE(fails(check(), ErrorCode::malformed, "only 1 outputs"));
}

TEST_F(NodeDirTest, BrokenFilesAreErrors) {
  scratch_.write("t/test_data_set_0/output_0.pb", "\x08");
  EXPECT_TRUE(fails(check(), ErrorCode::malformed, "output_0.pb"));
  scratch_.write("t/model.onnx", "no model");
  EXPECT_TRUE(fails(check(), ErrorCode::malformed, "model.onnx"));
}

TEST_F(NodeDirTest, ADirectoryWithoutDataSetsIsAnError) {
  std::filesystem::remove_all(scratch_.path("t/test_data_set_0"));
  EXPECT_TRUE(fails(check(), ErrorCode::malformed, "test_data_set_*"));
}

}  // namespace
}  // namespace dequant::conformance
