// Models under random damage: read or refused, within a memory that the file earns, and edited
// without a byte that was not there.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "format/onnx/edit.h"
#include "format/onnx/scope.h"
#include "format/onnx/tensor_reader.h"
#include "message.h"
#include "support/expect_error.h"
#include "support/random.h"

namespace dequant::format::onnx {
namespace {

using testing::fails;
using testing::num;
using testing::Random;
using testing::sub;

/// Reads a model from memory, through the path by which the process itself reaches the file.
template <class Visit>
auto with_model(std::string_view bytes, Visit&& visit) {
  Descriptor fd(::memfd_create("model", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return visit(read_model(fmt::format("/proc/self/fd/{}", fd.get())));
}

std::string tensor(std::string_view name, int64_t type, const std::string& data) {
  return num(1, 2) + num(2, type) + sub(8, name) + data;
}

std::string node(std::string_view op, std::string_view input, std::string_view output,
                 const std::string& more = {}) {
  return sub(1, sub(1, input) + sub(2, output) + sub(4, op) + more);
}

/// Some of everything that is read.
std::string whole_model() {
  const std::string then = node("DequantizeLinear", "x", "w") + sub(12, sub(1, "w"));
  const std::string attribute = sub(5, sub(1, "then") + sub(6, sub(2, "t") + then) + num(20, 5));
  const std::string constant = sub(5, sub(1, "value") + sub(5, tensor("c", 3, sub(9, "ab"))));
  const std::string external =
      tensor("e", 3, sub(13, sub(1, "location") + sub(2, "w")) + num(14, 1));
  const std::string graph =
      sub(2, "g") + node("DequantizeLinear", "x", "y") + node("If", "y", "z", attribute) +
      node("Constant", "", "c", constant) + sub(5, tensor("x", 3, sub(9, "ab"))) +
      sub(5, tensor("t", 3, sub(5, "\x01\x02"))) + sub(5, external) + sub(11, sub(1, "in")) +
      sub(12, sub(1, "z") + sub(2, sub(1, num(1, 1)))) + sub(13, sub(1, "y")) +
      sub(14, sub(1, "y") + sub(2, sub(1, "SCALE_TENSOR") + sub(2, "x"))) +
      sub(15, sub(1, tensor("sparse", 1, sub(9, "abcdefgh"))) + sub(2, tensor("", 7, "")));
  const std::string function = sub(1, "F") + sub(4, "a") + sub(5, "b") +
                               sub(7, node("Neg", "a", "b").substr(2)) + sub(9, num(2, 21)) +
                               sub(10, "f");
  return num(1, 10) + sub(7, graph) + sub(8, num(2, 21)) + sub(25, function) +
         sub(14, sub(1, "key") + sub(2, "kept"));
}

/// Everything a conversion looks at before it decides. False if the model was refused, with a
/// message of one line and the code of a broken file.
bool survives(std::string_view bytes) {
  return with_model(bytes, [&](Result<std::unique_ptr<Model>> model) {
    Status status;
    if (model) {
      auto scopes = Scopes::build(**model);
      if (scopes) {
        const Pieces pieces = Edit(**model).render();
        EXPECT_EQ(size_of(pieces), static_cast<int64_t>(bytes.size()));
        ExternalFiles files((*model)->path);
        for (const Graph* g : scopes->graphs()) {
          for (const Initializer& i : g->initializers) {
            (void)read_tensor_data((*model)->source, files, i.tensor, 1 << 20);
          }
        }
        return true;
      }
      status = std::move(scopes).error();
    } else {
      status = std::move(model).error();
    }
    const ErrorCode code = status.error().code;
    EXPECT_TRUE(code == ErrorCode::malformed || code == ErrorCode::limit ||
                code == ErrorCode::unsupported)
        << status.error().message;
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos);
    return false;
  });
}

TEST(DamagedModelTest, TheModelItselfIsGood) { EXPECT_TRUE(survives(whole_model())); }

TEST(DamagedModelTest, AnyCutIsSurvived) {
  const std::string whole = whole_model();
  int good = 0;
  for (size_t n = 0; n < whole.size(); ++n) good += survives(std::string_view(whole).substr(0, n));
  EXPECT_LE(good, 5);  // between the fields behind the graph
}

TEST(DamagedModelTest, AnyByteChangedIsSurvived) {
  std::string bytes = whole_model();
  for (char& c : bytes) {
    const char was = c;
    for (int value = 0; value < 256; value += 5) {
      c = static_cast<char>(value);
      survives(bytes);
    }
    c = was;
  }
}

TEST(DamagedModelTest, RandomDamageIsSurvived) {
  const std::string whole = whole_model();
  Random random(7);
  int good = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string bytes = whole;
    for (int64_t n = random.in(1, 4); n > 0; --n) {
      const auto at = static_cast<size_t>(random.in(0, static_cast<int64_t>(bytes.size()) - 1));
      const auto other = static_cast<size_t>(random.in(0, static_cast<int64_t>(bytes.size()) - 1));
      const auto size = static_cast<size_t>(random.in(1, 30));
      switch (random.in(0, 4)) {
        case 0: bytes[at] = static_cast<char>(random.bits()); break;
        case 1: bytes.erase(at, size); break;
        case 2: bytes.insert(at, whole.substr(std::min(other, whole.size()), size)); break;
        case 3: bytes.insert(at, std::string(size, '\xFF')); break;
        default: std::swap(bytes[at], bytes[other]); break;
      }
      if (bytes.empty()) bytes.push_back(whole[0]);
    }
    good += survives(bytes);
  }
  EXPECT_GT(good, 100);
}

TEST(ReadModelTest, ErrorsNameTheFileAndThePlace) {
  with_model(sub(7, sub(1, "\x0F")), [](const Result<std::unique_ptr<Model>>& model) {
    EXPECT_TRUE(fails(model, ErrorCode::malformed, "/proc/self/fd/"));
    EXPECT_TRUE(
        fails(model, ErrorCode::malformed, "malformed protobuf: an unknown wire type at byte 4"));
  });
  EXPECT_TRUE(fails(read_model("/no/such"), ErrorCode::io, "/no/such: No such file"));
}

TEST(ScopesTest, NamesAreSeenFromInnerGraphsAndHiddenByTheirOwn) {
  with_model(whole_model(), [](Result<std::unique_ptr<Model>> read) {
    Model& model = **read;
    const Scopes scopes = Scopes::build(model).value();
    ASSERT_EQ(scopes.graphs().size(), 3u);
    const Graph& inner = *scopes.graphs()[1];
    const Graph& function = *scopes.graphs()[2];
    EXPECT_EQ(scopes.find(inner, "x"), scopes.find(model.graph, "x"));
    EXPECT_NE(scopes.find(inner, "w"), nullptr);
    EXPECT_EQ(scopes.find(model.graph, "w"), nullptr);
    EXPECT_EQ(scopes.find(function, "x"), nullptr);
    EXPECT_NE(scopes.find(function, "a"), nullptr);
    EXPECT_EQ(scopes.find(model.graph, "x")->live, 3u);  // two nodes and an annotation
  });
}

}  // namespace
}  // namespace dequant::format::onnx
