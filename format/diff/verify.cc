// Verifying a float model against the quantized model that it was made from.
#include "format/diff/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "format/diff/bands.h"
#include "format/diff/comparison.h"
#include "format/diff/pairs.h"
#include "format/diff/verify_bounds.h"
#include "format/diff/verify_stored.h"
#include "format/io/errors.h"
#include "format/model/floats.h"

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
    // Graphs have integers that are no tensors of the model, such as shapes; checkpoints do not.
    const bool kept = a_.format().words.folds == b_.format().words.folds;
    DEQUANT_TRY(const KeptTensors kept_a, kept ? KeptTensors::of(a_, in_a) : KeptTensors());
    DEQUANT_TRY(const KeptTensors kept_b, kept ? KeptTensors::of(b_, in_b) : KeptTensors());
    const Side a{in_a, kept_a};
    const Side b{in_b, kept_b};
    for (const std::string_view name : in_a.names()) total_ += elements_of(in_a.find(name));
    total_ += kept_a.elements();
    DEQUANT_CHECK(verify_floats(a, b));
    DEQUANT_CHECK(verify_stored(
        a, b, [&](int64_t elements) { return step(elements); }, out_));
    return std::move(out_);
  }

 private:
  /// Compares the tensors that are floats in both models.
  Status verify_floats(const Side& a, const Side& b) {
    const Pairing pairing = paired(a.named, b.named);
    for (const NamePair& names : pairing.pairs) {
      if (names.a == names.b && is_stored_only(a, b, names.a)) continue;
      DEQUANT_CHECK(verify_pair(names, a.named, b.named));
    }
    const auto add = [&](std::vector<std::string>& list, std::string_view name) {
      if (!is_stored_only(a, b, name)) list.emplace_back(name);
    };
    for (const std::string_view name : pairing.only_in_a) add(out_.missing, name);
    for (const std::string_view name : pairing.only_in_b) add(out_.unexpected, name);
    return verify_bounds(a_, b_, b.named, options_.stream, out_);
  }

  Status verify_pair(const NamePair& names, const NamedTensors& in_a, const NamedTensors& in_b) {
    const DenseTensor* a = in_a.find(names.a);
    const DenseTensor* b = in_b.find(names.b);
    ++out_.verified;
    if (a == nullptr || b == nullptr) {
      out_.wrong.push_back({.name = std::string(names.a),
                            .reason = a == nullptr ? in_a.reason(names.a) : in_b.reason(names.b)});
      return {};
    }
    auto status = verify(names.a, *a, *b);
    if (status || status.error().code == ErrorCode::io) return status;
    return in(fmt::format("tensor {}", escaped(names.a)), std::move(status).error());
  }

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
    if (b.recipe) ++out_.quantized;
    if (is_rounded(a, b)) ++out_.other_type;
    WrongTensor found{.name = std::string(name), .elements = elements_of(&a)};
    out_.elements += found.elements;
    if (!std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end())) {
      found.reason = fmt::format("its shape is [{}], and should be [{}]", fmt::join(b.shape, ", "),
                                 fmt::join(a.shape, ", "));
    } else if (a.type().element != b.type().element && !is_rounded(a, b)) {
      found.reason = fmt::format("its type is {}, and should be {}, as it is not quantized",
                                 dequant::name(b.type().element), dequant::name(a.type().element));
    } else {
      DEQUANT_CHECK(count_differing(a, b, found));
      if (found.different == 0) return {};
    }
    DEQUANT_TRY(found.explained,
                explain(a_, a, b_, b, found.first.value_or(0), options_.stream.memory / 8));
    out_.wrong.push_back(std::move(found));
    return {};
  }

  /// True for a tensor that is stored as floats in both models, in different types.
  static bool is_rounded(const DenseTensor& a, const DenseTensor& b) {
    const Element from = a.type().element;
    const Element to = b.type().element;
    return !a.recipe && from != to && is_output(from) && is_output(to);
  }

  /// Sets WrongTensor::different, and what the first of these elements is.
  Status count_differing(const DenseTensor& a, const DenseTensor& b, WrongTensor& found) {
    DEQUANT_TRY(const auto bands_a, Bands::open(a_, a, per_file_, kBand));
    DEQUANT_TRY(const auto bands_b, Bands::open(b_, b, per_file_, kBand));
    const Element element = b.type().element;
    Comparison comparison(element, element, a.shape, {});
    const int64_t elements = elements_of(&a);
    for (int64_t at = 0; at < elements; at += kBand) {
      const int64_t count = std::min(elements - at, kBand);
      DEQUANT_TRY(auto band_a, bands_a->next(count));
      DEQUANT_TRY(const auto band_b, bands_b->next(count));
      if (is_rounded(a, b)) band_a = rounded(a.type().element, band_a, element, count);
      comparison.add(band_a, band_b, options_.stream.executor);
      if (!found.first && comparison.identical() < at + count)
        find_first(element, band_a, band_b, at, found);
      DEQUANT_CHECK(step(count));
    }
    DEQUANT_CHECK(bands_a->finish());
    DEQUANT_CHECK(bands_b->finish());
    found.different = elements - comparison.identical();
    return {};
  }

  /// The floats of a band in another type, valid until the next call.
  std::span<const std::byte> rounded(Element from, std::span<const std::byte> band, Element to,
                                     int64_t count) {
    floats_.resize(static_cast<size_t>(count));
    rounded_.resize(floats_.size() * static_cast<size_t>(bits(to)) / 8);
    widen(from, band, floats_);
    narrow(to, floats_, rounded_);
    return rounded_;
  }

  /// The first element of the band that differs; the band begins at the element `begin`.
  static void find_first(Element element, std::span<const std::byte> a,
                         std::span<const std::byte> b, int64_t begin, WrongTensor& found) {
    std::vector<float> right(a.size() * 8 / static_cast<size_t>(bits(element)));
    std::vector<float> wrong(right.size());
    widen(element, a, right);
    widen(element, b, wrong);
    const auto [at, other] =
        std::mismatch(right.begin(), right.end(), wrong.begin(), [](float x, float y) {
          return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) ||
                 (std::isnan(x) && std::isnan(y));
        });
    if (at == right.end()) return;
    found.first = begin + (at - right.begin());
    found.right = *at;
    found.found = *other;
  }

  /// More elements of a are done.
  Status step(int64_t elements) {
    done_ += elements;
    return options_.progress ? options_.progress(done_, total_) : Status();
  }

  ModelFile& a_;
  ModelFile& b_;
  const VerifyOptions& options_;
  StreamOptions per_file_;  ///< half of the memory, for each file
  Verification out_;
  int64_t total_ = 0;
  int64_t done_ = 0;
  std::vector<float> floats_;  ///< of a band, and the same in the type of the float model
  std::vector<std::byte> rounded_;
};

}  // namespace

Result<Verification> verify(ModelFile& quantized, ModelFile& floats, const VerifyOptions& options) {
  return Verifier(quantized, floats, options).run();
}

}  // namespace dequant::format
