// The report of the conversion of a checkpoint.
#include "format/checkpoint/describe.h"

#include <unordered_map>

#include "format/io/errors.h"
#include "format/model/distinct_bytes.h"
#include "format/model/tensor.h"

namespace dequant::format::checkpoint {
namespace {

class Description {
 public:
  explicit Description(const Groups& groups) : groups_(groups) {}

  void add_converted(const OutputTensor& t) {
    const Group& g = group_of(t);
    Plan plan = plan_for(g.plan, g.variants, t.output);
    int64_t before = 0;
    int64_t first = 0;
    for_each_entry(g, [&](const Entry& entry) {
      before += entry.tensor->bytes;
      first += distinct_.add(&entry, entry.tensor->bytes);
    });
    report.converted.push_back({"", std::string(g.scheme), g.name, g.name,
                                std::string(g.codes.entry->name()), std::move(plan), g.axis,
                                g.shape, before, first, t.bytes});
  }

  void add_left(const Layout& layout) {
    for (const Group* group : layout.not_selected) {
      report.left.push_back(
          {"", "", std::string(group->scheme), group->name, "not selected by include and exclude"});
    }
    for (const Unread& unread : groups_.unread())
      report.left.push_back({"", "", "", std::string(unread.codes->name()), unread.reason});
    const auto& unknown = groups_.unknown();
    for (const Unknown& tensor : unknown)
      report.left.push_back({"", "", "", std::string(tensor.entry->name()), tensor.reason});
    if (unknown.empty()) return;
    report.warnings.push_back(
        fmt::format("{} quantized tensors are copied as they are, as nothing says how to "
                    "dequantize them: the first is {}",
                    unknown.size(), escaped(unknown[0].entry->name())));
  }

  /// The other tensors that do not have the bytes of the input.
  void add_rounded(int64_t count, Element output) {
    if (count == 0) return;
    report.warnings.push_back(
        fmt::format("{} tensors that are not quantized are rounded to {}, as others same demands",
                    count, name(output)));
  }

  ConvertReport report;

 private:
  const Groups& groups_;
  DistinctBytes distinct_;
};

}  // namespace

Result<ConvertReport> describe(const Groups& groups, const Layout& layout,
                               const OtherFiles& others) {
  Description d(groups);
  int64_t rounded = 0;
  Element output = Element::float32;
  for (const OutputShard& shard : layout.shards) {
    d.report.bytes_out += shard.bytes;
    for (const OutputTensor& t : shard.tensors) {
      if (t.computed) d.add_converted(t);
      if (!t.from) continue;
      ++rounded;
      output = t.output;
    }
  }
  d.add_left(layout);
  d.add_rounded(rounded, output);
  DEQUANT_TRY(const Warnings warnings, groups.warnings());
  for (const std::string& warning : warnings.sentences()) d.report.warnings.push_back(warning);
  for (const Dropped& dropped : groups.dropped()) {
    if (layout.needed.contains(dropped.entry)) continue;
    d.report.dropped.push_back({std::string(dropped.entry->name()), std::string(dropped.reason)});
  }
  for (const OtherFile& other : others.copied) d.report.files_copied.push_back(other.name);
  d.report.files_left_out = others.left_out;
  d.report.bytes_in = groups.shards().bytes();
  return std::move(d.report);
}

void add_special_scales(std::span<const SpecialScales> found, ConvertReport& report) {
  if (found.empty()) return;
  std::unordered_map<std::string_view, Converted*> converted;
  for (Converted& c : report.converted) converted.emplace(c.name, &c);
  Warnings warnings;
  for (const SpecialScales& special : found) {
    Converted& of = *converted.at(special.group->name);
    of.nan_scales = special.scales.nan;
    of.infinite_scales = special.scales.infinite;
    warnings.add(special.text());
  }
  for (const std::string& warning : warnings.sentences()) report.warnings.push_back(warning);
}

}  // namespace dequant::format::checkpoint
