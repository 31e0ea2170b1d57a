// The part of verify() for bounds of Clip nodes that a float model has in place of quantizations.
#include "format/diff/verify_bounds.h"

#include <unordered_map>
#include <unordered_set>

#include "format/model/floats.h"

namespace dequant::format {
namespace {

class BoundVerifier {
 public:
  BoundVerifier(ModelFile& a, ModelFile& b, const NamedTensors& in_b, const StreamOptions& options,
                Verification& out)
      : a_(a), b_(b), in_b_(in_b), options_(options), out_(out) {}

  Status run() {
    const std::unordered_set<std::string_view> unexpected(out_.unexpected.begin(),
                                                          out_.unexpected.end());
    const auto collect = [&](const BoundTensor& bound) -> Status {
      if (unexpected.contains(bound.name)) bounds_[bound.name].push_back(bound);
      return {};
    };
    DEQUANT_CHECK(b_.visit_bounds(collect));
    std::vector<std::string> left;
    for (std::string& name : out_.unexpected) {
      DEQUANT_TRY(const bool verified, verify(name));
      if (!verified) left.push_back(std::move(name));
    }
    out_.unexpected = std::move(left);
    return {};
  }

 private:
  /// True for a tensor that was compared.
  Result<bool> verify(const std::string& name) {
    const auto bounds = bounds_.find(name);
    const DenseTensor* tensor = bounds == bounds_.end() ? nullptr : in_b_.find(name);
    if (tensor == nullptr) return false;
    DEQUANT_TRY(const int64_t count, element_count(tensor->shape));
    if (count != 1) return false;
    const Element type = tensor->type().element;
    std::vector<std::byte> found(static_cast<size_t>(bits(type)) / 8);
    DEQUANT_CHECK(read(b_, *tensor, options_, found));
    std::vector<std::byte> right = found;
    for (const BoundTensor& bound : bounds->second) {
      DEQUANT_TRY(auto expected, a_.bound_of(bound.value, bound.end, type));
      if (!expected) return false;
      if (*expected != found) right = *std::move(expected);
    }
    ++out_.verified;
    ++out_.elements;
    if (right != found) {
      out_.wrong.push_back({.name = name,
                            .elements = 1,
                            .different = 1,
                            .first = 0,
                            .right = number(type, right),
                            .found = number(type, found)});
    }
    return true;
  }

  static float number(Element type, std::span<const std::byte> bytes) {
    float out = 0;
    widen(type, bytes, {&out, 1});
    return out;
  }

  ModelFile& a_;
  ModelFile& b_;
  const NamedTensors& in_b_;
  const StreamOptions& options_;
  Verification& out_;
  std::unordered_map<std::string_view, std::vector<BoundTensor>> bounds_;
};

}  // namespace

Status verify_bounds(ModelFile& a, ModelFile& b, const NamedTensors& in_b,
                     const StreamOptions& options, Verification& out) {
  return BoundVerifier(a, b, in_b, options, out).run();
}

}  // namespace dequant::format
