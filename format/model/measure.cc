// Statistics of the data of one dense tensor.
#include "format/model/measure.h"

#include <algorithm>
#include <unordered_map>

#include "format/io/numbers.h"
#include "format/model/used_scales.h"
#include "format/model/zero_points.h"

namespace dequant::format {
namespace {

/// Elements read at once; a multiple of 8.
constexpr int64_t kMeasuredAtOnce = int64_t{1} << 18;

/// Calls visit(Group&) for the scales that the report lists one by one.
template <class Visit>
void for_each_listed(ScaleProfile& scale, Visit visit) {
  for (Group& g : scale.least) visit(g);
  for (Group& g : scale.greatest) visit(g);
}

/// The order of the zero points of a tensor, beside that of its scales. Rows of zero points may end
/// with codes that only fill up a byte.
class ZeroPointOrder {
 public:
  explicit ZeroPointOrder(const Plan& plan)
      : used_(plan, &Dimension::zero_point, &GroupIndex::zero_point) {
    const auto add = [&](int64_t count, int64_t scale, int64_t zero_point) {
      is_that_of_scales_ = is_that_of_scales_ && scale == zero_point;
      if (zero_point > 0) steps_.push_back({count, scale, zero_point});
    };
    for (const Dimension& d : plan.dimensions)
      add((d.size - 1) / d.block + 1, d.scale, d.zero_point);
    const GroupIndex& index = plan.parameters.group_index;
    add(index.groups, index.scale, index.zero_point);
    std::sort(steps_.begin(), steps_.end(),
              [](const Step& a, const Step& b) { return a.zero_point > b.zero_point; });
  }

  /// The index of the scale that belongs to a zero point; nothing where no element has it.
  std::optional<int64_t> scale_of(int64_t zero_point) const {
    if (!used_.contains(zero_point)) return {};
    if (is_that_of_scales_) return zero_point;
    int64_t scale = 0;
    for (const Step& step : steps_) {
      const int64_t at = zero_point / step.zero_point;
      if (at >= step.count) return {};
      scale += at * step.scale;
      zero_point -= at * step.zero_point;
    }
    return zero_point == 0 ? std::optional(scale) : std::nullopt;
  }

 private:
  struct Step {
    int64_t count;
    int64_t scale;  ///< strides
    int64_t zero_point;
  };

  const UsedScales used_;
  std::vector<Step> steps_;  ///< the longest stride of zero points first
  bool is_that_of_scales_ = true;
};

/// Rows of stored codes, of which elements have the first ones.
struct CodeRows {
  int64_t stored = 1;
  int64_t used = 1;
};

/// The rows of 8-bit codes of a strided plan.
CodeRows code_rows(const Plan& plan) {
  CodeRows rows{0, 1};
  for (const Dimension& d : plan.dimensions) {
    if (d.x > rows.stored) rows.stored = d.x;
  }
  for (const Dimension& d : plan.dimensions) {
    if (d.x != rows.stored) rows.used += (d.size - 1) * d.x;
  }
  if (bits(plan.input) != 8 || rows.used >= rows.stored) return {};
  return rows;
}

}  // namespace

Result<Measured> Measurer::measure(const DenseTensor& tensor, bool all) {
  const Recipe& recipe = *tensor.recipe;
  Measured found;
  if (recipe.scale) {
    const UsedScales used(recipe.plan, &Dimension::scale, &GroupIndex::scale);
    int64_t index = 0;
    DEQUANT_CHECK(read(*recipe.scale, [&](double scale) {
      if (used.contains(index)) found.scale.add(scale, index, all);
      ++index;
    }));
  }
  if (recipe.tensor_scale) {
    int64_t index = 0;
    DEQUANT_CHECK(read(*recipe.tensor_scale,
                       [&](double scale) { found.tensor_scale.add(scale, index++, all); }));
  }
  for_each_listed(found.scale, [&](Group& g) { g.zero_point = recipe.plan.implicit_zero_point; });
  if (recipe.zero_point) DEQUANT_CHECK(read_zero_points(recipe.plan, *recipe.zero_point, found));
  Profiler profiler(recipe.plan, all);
  // Chunks of a strided plan may read the same codes: these are read once more, in their order.
  const bool strided = recipe.plan.granularity == Granularity::strided;
  const bool packed = has_packed_codes(recipe.plan) || recipe.plan.parameters.x_blocks.has_value();
  DEQUANT_TRY(RecipeReaders readers, open_readers(file_, tensor, options_));
  DEQUANT_CHECK(scatter_.visit(recipe.plan, std::move(readers), [&](const Chunk& chunk) -> Status {
    profiler.add(chunk.elements, chunk.output);
    if (!strided && !packed)
      profiler.add_codes(chunk.codes, chunk.elements.end - chunk.elements.begin);
    advance_(static_cast<int64_t>(chunk.output.size()));
    return {};
  }));
  if (strided && !packed && all) DEQUANT_CHECK(read_codes(recipe.plan, tensor.stored, profiler));
  found.profile = profiler.finish();
  if (found.profile.has_groups) {
    for_each_listed(found.scale, [&](Group& g) { g.largest = profiler.largest(g.index); });
  }
  return found;
}

/// Codes that fill up rows do not count.
Status Measurer::read_codes(const Plan& plan, const StoredTensor& codes, Profiler& profiler) {
  const CodeRows rows = code_rows(plan);
  DEQUANT_TRY(const auto reader, file_.open(codes, options_.memory));
  for (int64_t done = 0; reader->left() > 0;) {
    const int64_t count = std::min(kMeasuredAtOnce, reader->left());
    DEQUANT_TRY(const auto part, reader->next(count));
    if (rows.used == rows.stored) {
      profiler.add_codes(part, count);
      continue;
    }
    for (int64_t i = 0; i < count;) {
      const int64_t at = (done + i) % rows.stored;
      const int64_t run = std::min((at < rows.used ? rows.used : rows.stored) - at, count - i);
      if (at < rows.used)
        profiler.add_codes(part.subspan(static_cast<size_t>(i), static_cast<size_t>(run)), run);
      i += run;
    }
    done += count;
  }
  return reader->finish();
}

/// Zero points of groups that are listed, and the extent of all.
Status Measurer::read_zero_points(const Plan& plan, const StoredTensor& zero_point,
                                  Measured& found) {
  std::unordered_map<int64_t, double> listed;
  for_each_listed(found.scale, [&](Group& g) { listed[g.index] = 0; });
  const auto add = [&](int64_t scale, double value) {
    found.zero_point.add(value);
    const auto at = listed.find(scale);
    if (at != listed.end()) at->second = value;
  };
  if (are_computed(plan)) {
    const int64_t memory = parameter_memory(options_);
    DEQUANT_TRY(const auto reader, file_.open(zero_point, memory));
    DEQUANT_TRY(const std::vector<std::byte> stored, reader->whole(memory));
    DEQUANT_CHECK(for_each_zero_point(plan, stored, add));
  } else {
    const ZeroPointOrder order(plan);
    int64_t index = 0;
    DEQUANT_CHECK(read(zero_point, [&](double stored) {
      if (const auto scale = order.scale_of(index++)) add(*scale, stored);
    }));
  }
  for_each_listed(found.scale, [&](Group& g) { g.zero_point = listed[g.index]; });
  return {};
}

/// Calls `add` with every number of a stored tensor, in order.
template <class Add>
Status Measurer::read(const StoredTensor& tensor, Add add) {
  DEQUANT_TRY(const auto reader, file_.open(tensor, options_.memory));
  while (reader->left() > 0) {
    const int64_t count = std::min(kMeasuredAtOnce, reader->left());
    DEQUANT_TRY(const auto part, reader->next(count));
    for_each_number(reader->element(), part, add, count);
  }
  return reader->finish();
}

Remembered::Inputs Remembered::inputs_of(const DenseTensor& tensor) {
  Inputs inputs{tensor.stored.identity};
  tensor.recipe->for_each_parameter([&](const StoredTensor& t) { inputs.push_back(t.identity); });
  return inputs;
}

const Measured* Remembered::find(const DenseTensor& tensor) const {
  const auto [begin, end] = found_.equal_range(inputs_of(tensor));
  for (auto at = begin; at != end; ++at) {
    if (at->second.plan == tensor.recipe->plan) return &at->second.measured;
  }
  return nullptr;
}

void Remembered::add(const DenseTensor& tensor, const Measured& measured, bool all) {
  const Plan& plan = tensor.recipe->plan;
  if (element_count(plan) < kLeastElements || !tensor.shared) return;
  if (found_.size() < (all ? kMostProfiles : kMost))
    found_.emplace(inputs_of(tensor), Entry{plan, measured});
}

}  // namespace dequant::format
