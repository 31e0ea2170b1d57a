// Comparing the tensors of two model files.
#include "format/diff/models.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/diff/bands.h"
#include "format/diff/comparison.h"
#include "format/diff/pairs.h"
#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// Elements of a band at most: enough work for all threads, few enough that computed values are
/// still in a cache when they are compared.
constexpr int64_t kMostElements = int64_t{1} << 22;

/// A band has memory / kBandShare elements: with those, the bands of both files and the chunks from
/// which they are computed fit.
constexpr int64_t kBandShare = 64;

int64_t elements_of_a_band(int64_t memory) {
  constexpr int64_t kBlock = Comparison::kBlock;
  return std::clamp(memory / kBandShare / kBlock * kBlock, kBlock, kMostElements);
}

class Differ {
 public:
  Differ(ModelFile& a, ModelFile& b, const DiffOptions& options)
      : a_(a), b_(b), options_(options), per_file_(options.stream) {
    per_file_.memory /= 2;
  }

  Result<ModelDifference> run() {
    DEQUANT_TRY(const NamedTensors in_a, tensors_of(a_));
    DEQUANT_TRY(const NamedTensors in_b, tensors_of(b_));
    const Pairing pairing = paired(in_a, in_b);
    std::vector<Pair> todo;
    for (const NamePair& names : pairing.pairs) {
      const Pair pair{names, in_a.find(names.a), in_b.find(names.b)};
      std::string reason = pair.a == nullptr   ? in_a.reason(names.a)
                           : pair.b == nullptr ? in_b.reason(names.b)
                                               : doubt(*pair.a, *pair.b);
      if (reason.empty()) {
        DEQUANT_CHECK(plan(pair, todo));
      } else {
        report_.skipped.push_back({std::string(names.a), std::string(names.b), std::move(reason)});
      }
    }
    for (const Pair& pair : todo) DEQUANT_CHECK(compare(pair));
    std::stable_sort(
        report_.tensors.begin(), report_.tensors.end(),
        [](const auto& x, const auto& y) { return is_worse(x.difference, y.difference); });
    report_.only_in_a.assign(pairing.only_in_a.begin(), pairing.only_in_a.end());
    report_.only_in_b.assign(pairing.only_in_b.begin(), pairing.only_in_b.end());
    return std::move(report_);
  }

 private:
  struct Pair {
    NamePair names;
    const DenseTensor* a;
    const DenseTensor* b;
  };

  static Result<NamedTensors> tensors_of(ModelFile& file) {
    auto tensors = NamedTensors::of(file);
    if (!tensors) return in(escaped(file.path()), std::move(tensors).error());
    return tensors;
  }

  static std::string doubt(const DenseTensor& a, const DenseTensor& b) {
    if (std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end())) return {};
    return fmt::format("a has the shape [{}], and b [{}]", fmt::join(a.shape, ", "),
                       fmt::join(b.shape, ", "));
  }

  Status plan(const Pair& pair, std::vector<Pair>& todo) {
    DEQUANT_TRY(const int64_t count, element_count(pair.a->shape));
    for (const DenseTensor* t : {pair.a, pair.b}) {
      DEQUANT_TRY(const int64_t bytes, packed_bytes(t->type().element, count));
      total_ += std::min(bytes, INT64_MAX - total_);
    }
    todo.push_back(pair);
    return {};
  }

  /// options_.axis counted from the front, where a tensor of this shape has that axis.
  std::optional<int64_t> axis_of(Shape shape) const {
    const auto rank = static_cast<int64_t>(shape.size());
    if (!options_.axis || *options_.axis < -rank || *options_.axis >= rank) return {};
    return *options_.axis < 0 ? *options_.axis + rank : *options_.axis;
  }

  Status compare(const Pair& pair) {
    auto status = try_compare(pair);
    if (status || status.error().code == ErrorCode::io) return status;  // it names the file
    return in(fmt::format("tensor {}", escaped(pair.names.a)), std::move(status).error());
  }

  Status try_compare(const Pair& pair) {
    const Shape shape = pair.a->shape;
    const std::optional<int64_t> axis = axis_of(shape);
    if (Comparison::memory_for_channels(shape, axis) > options_.stream.memory / 4) {
      return failure(ErrorCode::limit, "{} channels of axis {} do not fit a quarter of the memory",
                     shape[static_cast<size_t>(*axis)], *axis);
    }
    const int64_t most = elements_of_a_band(options_.stream.memory);
    DEQUANT_TRY(const auto a, Bands::open(a_, *pair.a, per_file_, most));
    DEQUANT_TRY(const auto b, Bands::open(b_, *pair.b, per_file_, most));
    Comparison comparison(pair.a->type().element, pair.b->type().element, shape, axis);
    DEQUANT_TRY(int64_t left, element_count(shape));
    while (left > 0) {
      const int64_t count = std::min(left, most);
      DEQUANT_TRY(const auto band_a, a->next(count));
      DEQUANT_TRY(const auto band_b, b->next(count));
      comparison.add(band_a, band_b, options_.stream.executor);
      left -= count;
      done_ += static_cast<int64_t>(band_a.size() + band_b.size());
      if (options_.progress) DEQUANT_CHECK(options_.progress(done_, total_));
    }
    DEQUANT_CHECK(a->finish());
    DEQUANT_CHECK(b->finish());
    report_.tensors.push_back({std::string(pair.names.a), std::string(pair.names.b),
                               comparison.result(options_.worst, options_.skip_mismatches)});
    return {};
  }

  ModelFile& a_;
  ModelFile& b_;
  const DiffOptions& options_;
  StreamOptions per_file_;  ///< half of the memory, for each file
  int64_t total_ = 0;
  int64_t done_ = 0;
  ModelDifference report_;
};

}  // namespace

bool ModelDifference::exact() const {
  return skipped.empty() && only_in_a.empty() && only_in_b.empty() &&
         std::all_of(tensors.begin(), tensors.end(),
                     [](const TensorDifference& t) { return t.difference.exact(); });
}

Result<ModelDifference> diff(ModelFile& a, ModelFile& b, const DiffOptions& options) {
  return Differ(a, b, options).run();
}

}  // namespace dequant::format
