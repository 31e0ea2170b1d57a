// Choosing the histograms of a tensor for its charts.
#include "tools/inspect_bars.h"

#include <cmath>
#include <limits>

namespace dequant::tools {
namespace {

using format::ScaleProfile;

/// True where values are shown by bins of codes: integers with one scale. Each bin then has the
/// same number of codes, while bins of another width would show a comb. Each code must have a value
/// of its own: no value is infinite, and rounding changes at most the last bit of a float32.
bool values_by_codes(const format::TensorInfo& n) {
  return n.plan.granularity == Granularity::per_tensor && kind(n.plan.input) != Kind::floating &&
         bits(n.plan.input) <= 16 && n.plan.output == Element::float32 &&
         n.profile.values.infinities == 0 &&
         n.scale.extent.least >= std::numeric_limits<float>::min();
}

/// True where all scales are above zero and the largest is at least ten times the least.
bool log_scales(const ScaleProfile& s) {
  return s.zeros == 0 && s.negatives == 0 && !s.log2.empty() &&
         s.log2.greatest() - s.log2.least() > std::log2(10);
}

}  // namespace

Bars value_bars(const format::TensorInfo& n) {
  if (!values_by_codes(n)) return Bars(n.profile.values.finite);
  Bars bars(n.profile.codes.ordinals.coarser(64));
  const double scale = n.scale.extent.least;
  const double zero = n.zero_point.numbers == 0 ? n.plan.implicit_zero_point : n.zero_point.least;
  bars.begin = (bars.begin - 0.5 - zero) * scale;
  bars.width *= scale;
  return bars;
}

Bars code_bars(const format::TensorInfo& n) {
  const format::Histogram& all = n.profile.codes.ordinals;
  if (all.empty()) return Bars(all);
  Bars bars(all.width() == 1 ? all : all.coarser(64));
  bars.middle = bars.width == 1 ? 0.5 : 0;
  if (kind(n.plan.input) == Kind::floating) {
    bars.number = [element = n.plan.input](double ordinal) {
      return format::number_at(element, static_cast<int64_t>(ordinal));
    };
  }
  return bars;
}

Bars scale_bars(const ScaleProfile& s) {
  Bars bars(log_scales(s) ? s.log2 : s.linear);
  bars.log = log_scales(s);
  return bars;
}

}  // namespace dequant::tools
