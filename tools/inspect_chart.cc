// Charts of histograms, as SVG within a page. Bars are one path, of height 100 at most.
#include "tools/inspect_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/inspect_html.h"

namespace dequant::tools {
namespace {

// The sizes of a chart with axes, and of the bars within.
constexpr double kWidth = 420;
constexpr double kHeight = 190;
constexpr double kLeft = 44;
constexpr double kTop = 8;
constexpr double kBarsWidth = kWidth - kLeft - 14;
constexpr double kBarsHeight = kHeight - kTop - 26;

int64_t highest(const Bars& bars) {
  return *std::max_element(bars.counts.begin(), bars.counts.end());
}

/// The outline of all bars; even a count of 1 is visible.
std::string outline(const Bars& bars) {
  const auto most = static_cast<double>(highest(bars));
  std::string path = "M0 100";
  for (const int64_t count : bars.counts) {
    const double part = std::round(100 * static_cast<double>(count) / most);
    path += fmt::format("V{:.0f}h1", count == 0 ? 100 : 100 - std::max(part, 2.0));
  }
  return path + "V100z";
}

std::string path(const Bars& bars, const std::string& id) {
  return fmt::format("<path{} d='{}'/>", id.empty() ? "" : fmt::format(" id='{}'", id),
                     outline(bars));
}

/// The next number of 1, 2 or 5 times a power of ten.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double times : {1.0, 2.0, 5.0}) {
    if (times * power >= least) return times * power;
  }
  return 10 * power;
}

struct Tick {
  double at = 0;
  std::string text;
};

std::vector<Tick> even_ticks(const Bars& bars) {
  const double begin = bars.begin - bars.middle;
  const double end = bars.end() - bars.middle;
  double step = round_step((end - begin) / 6);
  if (bars.number) step = std::max(step, 1.0);
  std::vector<Tick> ticks;
  for (double k = std::ceil(begin / step); k * step <= end; ++k) {
    ticks.push_back({k * step + bars.middle, brief(bars.number_at(k * step) + 0.0)});
  }
  return ticks;
}

/// Ticks at powers of ten, with gaps where there are many, and at 2 and 5 times these where there
/// are few.
std::vector<Tick> log_ticks(const Bars& bars) {
  const double first = std::floor(bars.begin * std::log10(2));
  const double last = std::ceil(bars.end() * std::log10(2));
  const double step = std::ceil((last - first) / 7);
  std::vector<Tick> ticks;
  for (double power = first; power <= last; power += step) {
    for (const double times : {1.0, 2.0, 5.0}) {
      if (times > 1 && last - first > 3) break;
      const double number = times * std::pow(10, power);
      const double at = std::log2(number);
      if (at >= bars.begin && at <= bars.end()) ticks.push_back({at, brief(number)});
    }
  }
  return ticks;
}

/// "12k": a count on an axis.
std::string count_text(double count) {
  for (const auto& [unit, name] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
    if (count >= unit) return fmt::format("{:g}{}", count / unit, name);
  }
  return fmt::format("{:g}", count);
}

std::string count_axis(double most) {
  std::string out;
  const double step = std::max(1.0, round_step(most / 5));
  for (double count = 0; count <= most; count += step) {
    const double y = kTop + kBarsHeight * (1 - count / most);
    out += fmt::format("<path class='g' d='M{} {:.1f}h{}'/><text x='{}' y='{:.1f}'>{}</text>",
                       kLeft, y, kBarsWidth, kLeft - 5, y + 3.5, count_text(count));
  }
  return out;
}

std::string number_axis(const Bars& bars) {
  std::string out;
  for (const Tick& tick : bars.log ? log_ticks(bars) : even_ticks(bars)) {
    const double x = kLeft + kBarsWidth * (tick.at - bars.begin) / (bars.end() - bars.begin);
    out +=
        fmt::format("<path class='g' d='M{:.1f} {}v4'/><text class='x' x='{:.1f}' y='{}'>{}</text>",
                    x, kTop + kBarsHeight, x, kHeight - 6, tick.text);
  }
  return out;
}

/// The data from which the script describes the bar under the pointer.
std::string data(const Bars& bars) {
  std::string counts;
  std::string names;
  for (size_t i = 0; i < bars.counts.size(); ++i) {
    const char* space = i == 0 ? "" : " ";
    counts += fmt::format("{}{}", space, bars.counts[i]);
    if (bars.middle == 0) continue;  // a bar is a range of numbers
    names += fmt::format("{}{}", space,
                         brief(bars.number_at(bars.begin + static_cast<double>(i)) + 0.0));
  }
  return fmt::format(" data-begin='{}' data-width='{}'{} data-counts='{}'{}", exact(bars.begin),
                     exact(bars.width), bars.log ? " data-log" : "", counts,
                     names.empty() ? "" : fmt::format(" data-names='{}'", names));
}

}  // namespace

Bars::Bars(const format::Histogram& histogram) {
  if (histogram.empty()) return;
  begin = histogram.begin();
  width = histogram.width();
  counts.assign(histogram.counts().begin(), histogram.counts().end());
}

double Bars::last_number() const { return number_at(middle == 0 ? end() : end() - width); }

double Bars::number_at(double position) const {
  if (number) return number(position);
  return log ? std::exp2(position) : position;
}

std::string small_chart(const Bars& bars, const std::string& id) {
  if (bars.empty()) return "";
  std::string zero;
  const double at = -bars.begin / bars.width;
  if (!bars.log && at > 0 && at < static_cast<double>(bars.counts.size())) {
    zero = fmt::format("<path class='z' d='M{:.2f} 0V100'/>", at);
  }
  const bool alone = bars.counts.size() == 1;  // a single bar would fill the chart
  return fmt::format(
      "<svg class='s' viewBox='{} 0 {} 100' preserveAspectRatio='none' aria-hidden='true'>"
      "{}{}</svg>",
      alone ? -4 : 0, alone ? 9 : bars.counts.size(), zero, path(bars, id));
}

std::string full_chart(const Bars& bars, const std::string& what, const std::string& id) {
  const auto most = static_cast<double>(highest(bars));
  return fmt::format(
      "<svg class='c' viewBox='0 0 {} {}' role='img' aria-label='{}: {} bins from {} to {}, "
      "the "
      "fullest with {}'{}>{}{}<svg class='b' x='{}' y='{}' width='{}' height='{}' "
      "viewBox='0 "
      "0 {} 100' preserveAspectRatio='none'>{}</svg></svg>",
      kWidth, kHeight, what, bars.counts.size(), brief(bars.number_at(bars.begin)),
      brief(bars.last_number()), grouped(highest(bars)), data(bars), count_axis(most),
      number_axis(bars), kLeft, kTop, kBarsWidth, kBarsHeight, bars.counts.size(),
      id.empty() ? path(bars, "") : fmt::format("<use href='#{}'/>", id));
}

}  // namespace dequant::tools
