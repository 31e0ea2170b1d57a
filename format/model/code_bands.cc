// Bands of a tensor whose codes lie in another order than its floats.
#include "format/model/code_bands.h"

#include <algorithm>
#include <numeric>

#include "format/io/errors.h"

namespace dequant::format {
namespace {

/// Indices in a band are a multiple of so many where not each begins with a word: so many codes of
/// any width are whole words.
constexpr int64_t kIndices = 32;
constexpr int64_t kWordBits = 32;
constexpr int64_t kWordBytes = 4;
/// A StoredReader reads from multiples of so many elements on.
constexpr int64_t kReadFrom = 8;

int64_t aligned(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

bool is_slabs(const Packing& p) {
  return p.order == CodeOrder::slabs || p.order == CodeOrder::slabs_high_first;
}

bool has_packing(const Packing& p) { return p.order != CodeOrder::of_element; }

/// Codes, or zero points, that lie in a whole number of bytes and words, whatever their order in
/// these. `bits` are those of a code.
int64_t unit_of(const Packing& p, int bits) {
  constexpr int64_t kCodes = 8;  // so many of any width are whole bytes
  switch (p.order) {
    case CodeOrder::of_element: return kCodes / std::gcd(kCodes, bits);
    case CodeOrder::words: return kWordBits / bits;
    case CodeOrder::high_first:
    case CodeOrder::interleaved: return kCodes;
    default: return kWordBits;
  }
}

int64_t unit_of_zero_points(const Plan& plan) {
  const Parameters& p = plan.parameters;
  const int width = bits(zero_point_element(plan));
  if (p.zero_point_overflow == ZeroPointOverflow::carry) return std::max(8, 32 / width);
  return unit_of(p.zero_point_packing,
                 has_packing(p.zero_point_packing) ? p.zero_point_packing.bits : width);
}

/// The same layout without rows: then units may be moved. False where they may not.
bool forget_rows(Packing& p) {
  if (p.order == CodeOrder::of_element || p.order == CodeOrder::high_first) return true;
  const int64_t unit = unit_of(p, p.bits);
  if (is_slabs(p) || p.columns != 0 || p.row % unit != 0 || kIndices % unit != 0) return false;
  p.row = unit;
  return true;
}

/// Strides of one stored tensor in a band, which may be changed.
class Strides {
 public:
  void add(int64_t count, int64_t& stride) {
    if (count > 1 && stride > 0) list_.push_back({count, &stride});
  }

  /// Elements that are close together make a run, which begins at a multiple of `step`; all other
  /// strides are steps from run to run. The strides become those of runs that follow one another.
  std::optional<Runs> runs(int64_t first, int64_t step, int bits) {
    if (first % step != 0) return {};
    std::stable_sort(list_.begin(), list_.end(),
                     [](const One& a, const One& b) { return *a.stride < *b.stride; });
    auto one = list_.begin();
    int64_t reach = 1;
    for (; one != list_.end() && *one->stride <= std::max(reach, step - 1); ++one)
      reach += (one->count - 1) * *one->stride;
    int64_t distance = aligned(reach, step);
    Runs runs{first * bits / 8, distance * bits / 8};
    for (; one != list_.end(); ++one) {
      if (*one->stride % step != 0) return {};
      runs.steps.insert(runs.steps.begin(), {one->count, *one->stride * bits / 8});
      *one->stride = distance;
      distance *= one->count;
    }
    return runs;
  }

 private:
  struct One {
    int64_t count;
    int64_t* stride;
  };
  std::vector<One> list_;
};

/// The strides of scales, or of zero points.
Strides parameter_strides(Plan& plan, int64_t Dimension::*stride, int64_t GroupIndex::*of_groups) {
  Strides strides;
  for (Dimension& d : plan.dimensions) strides.add((d.size + d.block - 1) / d.block, d.*stride);
  GroupIndex& index = plan.parameters.group_index;
  strides.add(index.groups, index.*of_groups);
  return strides;
}

bool set(Runs& runs, std::optional<Runs> found) {
  if (found) runs = *std::move(found);
  return found.has_value();
}

/// Reads the runs of a stored tensor that a band needs.
class RunsReader : public StoredReader {
 public:
  RunsReader(const StoredReader& whole, const Runs& runs)
      : StoredReader(whole.element(), runs.bytes() * 8 / bits(whole.element())),
        whole_(whole),
        runs_(runs) {}

  bool seekable() const override { return true; }
  Status finish() override { return {}; }

  Status read_at(Range elements, std::span<std::byte> out) const override {
    const Range range = bytes_of(element_, elements);
    for (int64_t at = range.begin; at < range.end;) {
      const int64_t within = at % runs_.length;
      const int64_t count = std::min(runs_.length - within, range.end - at);
      const int64_t begin = begin_of(at / runs_.length) + within;
      DEQUANT_CHECK(read(begin, out.first(static_cast<size_t>(count))));
      out = out.subspan(static_cast<size_t>(count));
      at += count;
    }
    return {};
  }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "a part of a tensor"; }

  int64_t begin_of(int64_t run) const {
    int64_t begin = runs_.begin;
    for (auto step = runs_.steps.rbegin(); step != runs_.steps.rend(); ++step) {
      begin += run % step->count * step->stride;
      run /= step->count;
    }
    return begin;
  }

  /// Bytes of the whole tensor. The last run may be filled up beyond its end.
  Status read(int64_t begin, std::span<std::byte> out) const {
    const int64_t first = begin * 8 / bits(element_);
    const int64_t last = std::min(first + std::ssize(out) * 8 / bits(element_), whole_.count());
    const Range bytes = bytes_of(element_, {first, std::max(first, last)});
    const auto count = static_cast<size_t>(bytes.end - bytes.begin);
    std::fill(out.begin() + static_cast<ptrdiff_t>(count), out.end(), std::byte{0});
    return count == 0 ? Status() : read_from_any({first, last}, out.first(count));
  }

  /// `elements` begin with a byte; readers demand a multiple of 8 elements.
  Status read_from_any(Range elements, std::span<std::byte> out) const {
    const int64_t before = elements.begin % kReadFrom;
    if (before == 0) return whole_.read_at(elements, out);
    const auto skipped = static_cast<size_t>(before * bits(element_) / 8);
    std::vector<std::byte> all(skipped + out.size());
    DEQUANT_CHECK(whole_.read_at({elements.begin - before, elements.end}, all));
    std::copy(all.begin() + static_cast<ptrdiff_t>(skipped), all.end(), out.begin());
    return {};
  }

  const StoredReader& whole_;
  const Runs& runs_;
};

/// Reads the elements of a parameter from the one with the index `first` on.
class OffsetReader : public StoredReader {
 public:
  OffsetReader(const StoredReader& whole, int64_t first, int64_t count)
      : StoredReader(whole.element(), std::min(count, whole.count() - first)),
        whole_(whole),
        first_(first) {}

  bool seekable() const override { return true; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    return whole_.read_at({elements.begin + first_, elements.end + first_}, out);
  }
  Status finish() override { return {}; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "a part of a tensor"; }

  const StoredReader& whole_;
  const int64_t first_;
};

}  // namespace

int64_t Runs::bytes() const {
  int64_t bytes = length;
  for (const Step& step : steps) bytes *= step.count;
  return bytes;
}

std::optional<CodeBands> CodeBands::of(const Plan& plan, int64_t most) {
  if (plan.granularity != Granularity::strided || is_slabs(plan.parameters.x_packing)) return {};
  for (const Dimension& d : plan.dimensions) {
    if (d.size == 0 || std::min({d.x, d.scale, d.zero_point}) < 0) return {};
  }
  CodeBands bands(plan);
  for (; bands.dimension_ < plan.dimensions.size(); ++bands.dimension_) {
    const Dimension& d = plan.dimensions[bands.dimension_];
    const int64_t step = bands.step_of(d);
    bands.length_ = d.size;
    auto band = bands.band(0, {0, d.size});
    while (band && band->codes.bytes() > most && bands.length_ > step) {
      const double share = static_cast<double>(most) / static_cast<double>(band->codes.bytes());
      const auto length = static_cast<int64_t>(share * static_cast<double>(bands.length_));
      bands.length_ = std::max(std::min(length, bands.length_ - 1) / step * step, step);
      band = bands.band(0, {0, bands.length_});
    }
    // All others are as long as the first, but for the last.
    if (band && band->codes.bytes() <= most && bands.band(bands.count() - 1)) return bands;
    // Then this dimension has one index in each band, whatever is inside.
    if (!bands.keeps_alignment(d)) return {};
    bands.outer_ *= d.size;
  }
  return {};
}

bool CodeBands::keeps_alignment(const Dimension& d) const {
  const Packing& p = plan_.parameters.x_packing;
  const int64_t codes = p.columns != 0 ? p.row : unit_of(p, code_bits(plan_));
  const bool zero_points = !plan_.has_zero_point || d.zero_point % unit_of_zero_points(plan_) == 0;
  return d.x % codes == 0 && zero_points;
}

int64_t CodeBands::step_of(const Dimension& d) const {
  if (keeps_alignment(d)) return d.block;
  int64_t blocks = 1;
  if (plan_.has_zero_point) {
    const int64_t unit = unit_of_zero_points(plan_);
    blocks = unit / std::gcd(unit, d.zero_point);
  }
  return std::lcm(kIndices, d.block * blocks);
}

Result<CodeBand> CodeBands::at(int64_t index) const {
  auto found = band(index);
  if (!found) {
    return failure(ErrorCode::unsupported, "codes in another order: band {} of {} cannot be cut",
                   index, count());
  }
  return *std::move(found);
}

std::optional<CodeBand> CodeBands::band(int64_t outer, Range indices) const {
  const Dimension& cut = plan_.dimensions[dimension_];
  CodeBand band{{outer * cut.size + indices.begin, outer * cut.size + indices.end}, plan_};
  band.plan.dimensions.erase(band.plan.dimensions.begin(),
                             band.plan.dimensions.begin() + static_cast<ptrdiff_t>(dimension_));
  band.plan.dimensions[0].size = indices.end - indices.begin;
  int64_t inner = 1;
  for (size_t d = dimension_ + 1; d < plan_.dimensions.size(); ++d)
    inner *= plan_.dimensions[d].size;
  band.elements = {band.elements.begin * inner, band.elements.end * inner};
  int64_t first_code = 0;
  int64_t first_scale = 0;
  int64_t first_zero_point = 0;
  int64_t index = indices.begin;
  for (size_t d = dimension_ + 1; d-- > 0;) {
    const Dimension& dimension = plan_.dimensions[d];
    if (d < dimension_) {
      index = outer % dimension.size;
      outer /= dimension.size;
    }
    first_code += index * dimension.x;
    first_scale += index / dimension.block * dimension.scale;
    first_zero_point += index / dimension.block * dimension.zero_point;
    band.group_index += index * dimension.group_index;
  }
  const bool columns = plan_.parameters.x_packing.columns != 0;
  const bool placed = columns ? place_columns(band, first_code) : place_codes(band, first_code);
  if (placed && place_scales(band, first_scale) && place_zero_points(band, first_zero_point))
    return band;
  return {};
}

bool CodeBands::place_codes(CodeBand& band, int64_t first) const {
  Packing& p = band.plan.parameters.x_packing;
  const int width = code_bits(plan_);
  Strides strides;
  for (Dimension& d : band.plan.dimensions) strides.add(d.size, d.x);
  return forget_rows(p) && set(band.codes, strides.runs(first, unit_of(p, width), width));
}

/// Words of a row run down a column of a matrix: a band is a few of its columns.
bool CodeBands::place_columns(CodeBand& band, int64_t first) const {
  Packing& p = band.plan.parameters.x_packing;
  const Dimension& cut = band.plan.dimensions[0];
  int64_t reach = 1;
  for (size_t d = 1; d < band.plan.dimensions.size(); ++d)
    reach += (band.plan.dimensions[d].size - 1) * band.plan.dimensions[d].x;
  if (cut.x != p.row || reach > p.row || first % p.row != 0) return false;
  const int64_t all = x_bytes_of(plan_, {0, extents(plan_).x}).end;
  band.codes = {first / p.row * kWordBytes,
                cut.size * kWordBytes,
                {{all / kWordBytes / p.columns, p.columns * kWordBytes}}};
  p.columns = cut.size;
  return true;
}

bool CodeBands::place_scales(CodeBand& band, int64_t first) const {
  Strides strides = parameter_strides(band.plan, &Dimension::scale, &GroupIndex::scale);
  return set(band.scale, strides.runs(first, 1, bits(plan_.scale)));
}

bool CodeBands::place_zero_points(CodeBand& band, int64_t first) const {
  if (!plan_.has_zero_point) return true;
  Strides strides = parameter_strides(band.plan, &Dimension::zero_point, &GroupIndex::zero_point);
  Packing& p = band.plan.parameters.zero_point_packing;
  const int width = has_packing(p) ? p.bits : bits(zero_point_element(plan_));
  return forget_rows(p) &&
         set(band.zero_point, strides.runs(first, unit_of_zero_points(plan_), width));
}

std::optional<CodeBands> CodeBands::needed(const Plan& plan, const RecipeReaders& readers,
                                           int64_t output_bytes, int64_t parameter_bytes) {
  const auto seekable = [](const auto&... parts) { return ((!parts || parts->seekable()) && ...); };
  const int64_t codes = x_bytes_of(plan, {0, extents(plan).x}).end;
  if (codes > parameter_bytes && Chunks::holds_codes(plan, output_bytes, parameter_bytes) &&
      seekable(readers.codes, readers.scale, readers.zero_point, readers.group_index))
    return CodeBands::of(plan, parameter_bytes);
  return {};
}

RecipeReaders readers_of(const CodeBand& band, const RecipeReaders& whole) {
  const auto runs = [](const std::unique_ptr<StoredReader>& reader, const Runs& of_band) {
    return reader ? std::make_unique<RunsReader>(*reader, of_band) : nullptr;
  };
  const auto part = [](const std::unique_ptr<StoredReader>& reader, int64_t first, int64_t count) {
    return reader ? std::make_unique<OffsetReader>(*reader, first, count) : nullptr;
  };
  const Extents needed = extents(band.plan);
  RecipeReaders readers;
  readers.codes = runs(whole.codes, band.codes);
  readers.scale = runs(whole.scale, band.scale);
  readers.zero_point = runs(whole.zero_point, band.zero_point);
  readers.tensor_scale = part(whole.tensor_scale, 0, needed.tensor_scale);
  readers.group_index = part(whole.group_index, band.group_index, needed.group_index);
  readers.codebook = part(whole.codebook, 0, needed.codebook);
  return readers;
}

Status finish(const RecipeReaders& whole) {
  for (const auto* reader : {&whole.codes, &whole.scale, &whole.zero_point, &whole.tensor_scale,
                             &whole.group_index, &whole.codebook}) {
    if (*reader) DEQUANT_CHECK((*reader)->finish());
  }
  return {};
}

}  // namespace dequant::format
