// Names lead through Identity nodes to what they stand for, however long the way and whatever the
// order.
#include "format/onnx/scope.h"

#include <gtest/gtest.h>

#include "format/npy/scratch.h"
#include "format/onnx/dequantization.h"
#include "message.h"

namespace dequant::format::onnx {
namespace {

using testing::num;
using testing::Scratch;
using testing::sub;

std::string identity(const std::string& from, const std::string& to) {
  return sub(1, sub(1, from) + sub(2, to) + sub(4, "Identity"));
}

std::string model_of(const std::string& nodes) {
  const std::string tensor = num(1, 1) + num(2, 3) + sub(8, "t") + sub(9, "\x05");
  const std::string graph = nodes + sub(5, tensor) + sub(11, sub(1, "in"));
  return num(1, 10) + sub(7, graph) + sub(8, num(2, 21));
}

class IdentityChainTest : public ::testing::Test {
 protected:
  void open(const std::string& nodes) {
    model_ = read_model(scratch_.write("m.onnx", model_of(nodes))).value();
    scopes_ = Scopes::build(*model_).value();
  }

  Resolved resolve(std::string_view name) const {
    return resolve_constant(*scopes_, model_->graph, name, false);
  }

  const Scratch scratch_;
  std::unique_ptr<Model> model_;
  std::optional<Scopes> scopes_;
};

TEST_F(IdentityChainTest, LeadsToTheTensorFromEveryName) {
  open(identity("b", "c") + identity("a", "b") + identity("t", "a") + identity("b", "d"));
  for (const char* name : {"t", "a", "b", "c", "d"}) {
    ASSERT_TRUE(resolve(name).constant) << name;
    EXPECT_EQ(resolve(name).constant->tensor, &model_->graph.initializers.front().tensor);
  }
}

TEST_F(IdentityChainTest, SaysWhereItEnds) {
  open(identity("in", "a") + identity("a", "b") + identity("nowhere", "c") + identity("c", "d") +
       sub(1, sub(2, "r") + sub(4, "Relu")) + identity("r", "e") + identity("e", "f"));
  for (const char* name : {"a", "b"})
    EXPECT_EQ(resolve(name).reason, "in is an input of the graph");
  for (const char* name : {"c", "d"}) EXPECT_EQ(resolve(name).reason, "nowhere is defined nowhere");
  for (const char* name : {"e", "f"}) EXPECT_EQ(resolve(name).reason, "r is computed by Relu");
}

TEST_F(IdentityChainTest, IsFollowedOnce) {
  constexpr int kLong = 20'000;
  std::string nodes = identity("t", "n0");
  for (int i = 1; i < kLong; ++i) {
    nodes += identity("n" + std::to_string(i - 1), "n" + std::to_string(i));
  }
  open(nodes);
  const Definition* first = scopes_->find(model_->graph, "n0");
  for (int i = 0; i < kLong; ++i) {
    ASSERT_EQ(scopes_->last(*scopes_->find(model_->graph, "n" + std::to_string(i))), first);
  }
}

}  // namespace
}  // namespace dequant::format::onnx
