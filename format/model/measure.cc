// Statistics of the data of one dense tensor.
#include "format/model/measure.h"

#include <algorithm>
#include <unordered_map>

#include "format/io/numbers.h"

namespace dequant::format {
namespace {

/// Elements read at once; a multiple of 8.
constexpr int64_t kStep = int64_t{1} << 18;

/// Calls visit(Group&) for the scales that the report lists one by one.
template <class Visit>
void for_each_listed(ScaleProfile& scale, Visit visit) {
  for (Group& g : scale.least) visit(g);
  for (Group& g : scale.greatest) visit(g);
}

/// The zero point that is subtracted where one of GPTQ is stored minus 1. A carry to the next zero
/// point of a word is left out.
double subtracted(const Plan& plan, double stored) {
  const dequant::Parameters& p = plan.parameters;
  const double zero = stored + p.zero_point_offset;
  const double codes = 1 << std::min(bits(zero_point_element(plan)), 16);
  return p.zero_point_overflow != ZeroPointOverflow::keep && zero == codes ? 0 : zero;
}

}  // namespace

Result<Measured> Measurer::measure(const DenseTensor& tensor, bool all) {
  const Recipe& recipe = *tensor.recipe;
  Measured found;
  if (recipe.scale)
    DEQUANT_CHECK(read(*recipe.scale, [&](double scale) { found.scale.add(scale, all); }));
  for_each_listed(found.scale, [&](Group& g) { g.zero_point = recipe.plan.implicit_zero_point; });
  if (recipe.zero_point && !has_packed_zero_points(recipe.plan))
    DEQUANT_CHECK(read_zero_points(recipe.plan, *recipe.zero_point, found));
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
  if (strided && !packed && all) DEQUANT_CHECK(read_codes(tensor.stored, profiler));
  found.profile = profiler.finish();
  if (found.profile.has_groups) {
    for_each_listed(found.scale, [&](Group& g) { g.largest = profiler.largest(g.index); });
  }
  return found;
}

Status Measurer::read_codes(const StoredTensor& codes, Profiler& profiler) {
  DEQUANT_TRY(const auto reader, file_.open(codes, options_.memory));
  while (reader->left() > 0) {
    const int64_t count = std::min(kStep, reader->left());
    DEQUANT_TRY(const auto part, reader->next(count));
    profiler.add_codes(part, count);
  }
  return reader->finish();
}

/// Zero points have the indices of the scales.
Status Measurer::read_zero_points(const Plan& plan, const StoredTensor& zero_point,
                                  Measured& found) {
  std::unordered_map<int64_t, double> listed;
  for_each_listed(found.scale, [&](Group& g) { listed[g.index] = 0; });
  int64_t index = 0;
  DEQUANT_CHECK(read(zero_point, [&](double stored) {
    const double value = subtracted(plan, stored);
    found.zero_point.add(value);
    const auto at = listed.find(index++);
    if (at != listed.end()) at->second = value;
  }));
  for_each_listed(found.scale, [&](Group& g) { g.zero_point = listed[g.index]; });
  return {};
}

/// Calls `add` with every number of a stored tensor, in order.
template <class Add>
Status Measurer::read(const StoredTensor& tensor, Add add) {
  DEQUANT_TRY(const auto reader, file_.open(tensor, options_.memory));
  while (reader->left() > 0) {
    const int64_t count = std::min(kStep, reader->left());
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
