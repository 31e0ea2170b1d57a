// Verifying a float model against the quantized model that it was made from.
#include "format/diff/verify.h"

#include <algorithm>

#include "format/diff/bands.h"
#include "format/diff/comparison.h"
#include "format/diff/pairs.h"
#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// Elements of a band: 4 MiB of float32, so that both bands stay in a cache of the processor.
constexpr int64_t kBand = int64_t{1} << 20;

class Verifier {
 public:
  Verifier(ModelFile& a, ModelFile& b, const VerifyOptions& options)
      : a_(a), b_(b), options_(options), per_file_(options.stream) {
    per_file_.memory /= 2;
  }

  Result<Verification> run() {
    DEQUANT_TRY(const NamedTensors in_a, NamedTensors::of(a_));
    DEQUANT_TRY(const NamedTensors in_b, NamedTensors::of(b_));
    const Pairing pairing = paired(in_a, in_b);
    for (const std::string_view name : in_a.names()) total_ += elements_of(in_a.find(name));
    for (const NamePair& names : pairing.pairs) {
      const DenseTensor* a = in_a.find(names.a);
      const DenseTensor* b = in_b.find(names.b);
      ++out_.verified;
      if (a == nullptr || b == nullptr) {
        out_.wrong.push_back(
            {.name = std::string(names.a),
             .reason = a == nullptr ? in_a.reason(names.a) : in_b.reason(names.b)});
      } else if (auto status = verify(names.a, *a, *b); !status) {
        if (status.error().code == ErrorCode::io) return std::move(status).error();
        return in(fmt::format("tensor {}", escaped(names.a)), std::move(status).error());
      }
    }
    out_.missing.assign(pairing.only_in_a.begin(), pairing.only_in_a.end());
    out_.unexpected.assign(pairing.only_in_b.begin(), pairing.only_in_b.end());
    return std::move(out_);
  }

 private:
  static int64_t elements_of(const DenseTensor* tensor) {
    if (tensor == nullptr) return 0;
    const auto count = element_count(tensor->shape);
    return count ? *count : 0;
  }

  Status verify(std::string_view name, DenseTensor a, const DenseTensor& b) {
    if (a.recipe) {
      a.recipe->set_output(b.type().element);
      ++out_.dequantized;
    }
    WrongTensor found{.name = std::string(name), .elements = elements_of(&a)};
    out_.elements += found.elements;
    if (!std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end())) {
      found.reason = fmt::format("its shape is [{}], and should be [{}]", fmt::join(b.shape, ", "),
                                 fmt::join(a.shape, ", "));
    } else if (a.type().element != b.type().element) {
      found.reason = fmt::format("its type is {}, and should be {}, as it is not quantized",
                                 dequant::name(b.type().element), dequant::name(a.type().element));
    } else {
      DEQUANT_TRY(found.different, differing(a, b));
      if (found.different == 0) return {};
    }
    DEQUANT_TRY(found.explanation, explain(a_, a, b_, b, options_.stream.memory / 8));
    out_.wrong.push_back(std::move(found));
    return {};
  }

  Result<int64_t> differing(const DenseTensor& a, const DenseTensor& b) {
    DEQUANT_TRY(const auto bands_a, Bands::open(a_, a, per_file_, kBand));
    DEQUANT_TRY(const auto bands_b, Bands::open(b_, b, per_file_, kBand));
    Comparison comparison(a.type().element, b.type().element, a.shape, {});
    for (int64_t left = elements_of(&a); left > 0;) {
      const int64_t count = std::min(left, kBand);
      DEQUANT_TRY(const auto band_a, bands_a->next(count));
      DEQUANT_TRY(const auto band_b, bands_b->next(count));
      comparison.add(band_a, band_b, options_.stream.executor);
      left -= count;
      done_ += count;
      if (options_.progress) DEQUANT_CHECK(options_.progress(done_, total_));
    }
    DEQUANT_CHECK(bands_a->finish());
    DEQUANT_CHECK(bands_b->finish());
    const Difference difference = comparison.result(0, false);
    return difference.size - difference.identical;
  }

  ModelFile& a_;
  ModelFile& b_;
  const VerifyOptions& options_;
  StreamOptions per_file_;  ///< half of the memory, for each file
  Verification out_;
  int64_t total_ = 0;
  int64_t done_ = 0;
};

}  // namespace

Result<Verification> verify(ModelFile& quantized, ModelFile& floats, const VerifyOptions& options) {
  return Verifier(quantized, floats, options).run();
}

}  // namespace dequant::format
