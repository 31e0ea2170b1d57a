// `dequant inspect` of files with very many tensors.
#include "tools/inspect_folded.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "format/io/errors.h"
#include "format/model/distinct_bytes.h"
#include "format/model/fold_names.h"
#include "format/model/plan_words.h"
#include "tools/table.h"

namespace dequant::tools {
namespace {

using format::DenseTensor;
using format::escaped;
using format::LeftTensor;
using format::RestTensor;
using nlohmann::ordered_json;

/// Tensors of one part of the structure, before their names are folded.
class Kinds {
 public:
  /// Adds a tensor; `kind` has everything but the pattern and the sums of several tensors.
  void add(std::string_view name, FoldedTensors kind) {
    names_.emplace_back(name);
    kinds_[{kind.scheme, kind.type, kind.scale, kind.granularity, kind.output, kind.shape,
            kind.reason}]
        .push_back(tensors_.size());
    tensors_.push_back(std::move(kind));
  }

  std::vector<FoldedTensors> folded() const {
    std::vector<std::pair<size_t, FoldedTensors>> all;  // by the index of the first name
    for (const auto& [key, tensors] : kinds_) {
      std::vector<std::string_view> names;
      names.reserve(tensors.size());
      for (const size_t i : tensors) names.push_back(names_[i]);
      for (const format::FoldedNames& f : format::fold_names(names)) {
        FoldedTensors sum = tensors_[tensors[f.names[0]]];
        for (size_t i = 1; i < f.names.size(); ++i) add(tensors_[tensors[f.names[i]]], sum);
        sum.pattern = f.pattern;
        all.emplace_back(tensors[f.names[0]], std::move(sum));
      }
    }
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<FoldedTensors> out;
    for (auto& [first, f] : all) out.push_back(std::move(f));
    return out;
  }

 private:
  using Kind = std::tuple<std::string, std::string, std::string, std::string, std::string,
                          std::string, std::string>;

  static void add(const FoldedTensors& one, FoldedTensors& sum) {
    sum.count += one.count;
    sum.elements += one.elements;
    sum.bytes += one.bytes;
    sum.bytes_first += one.bytes_first;
    sum.float_bytes += one.float_bytes;
  }

  std::deque<std::string> names_;
  std::vector<FoldedTensors> tensors_;
  std::map<Kind, std::vector<size_t>> kinds_;
};

FoldedTensors kind_of(const DenseTensor& tensor) {
  const Plan& plan = tensor.recipe->plan;
  const auto& scale = tensor.recipe->scale;
  FoldedTensors kind;
  kind.scheme = tensor.scheme;
  kind.type = format::codes_text(plan);
  if (tensor.recipe->codes_are_values) {
    kind.granularity = format::kNoScale;
  } else {
    if (scale) kind.scale = fmt::format("{} {}", name(plan.scale), shape_text(scale->type.shape));
    kind.granularity = format::granularity_text(plan, tensor.recipe->axis, tensor.shape);
  }
  kind.output = name(plan.output);
  kind.shape = shape_text(tensor.shape);
  kind.count = 1;
  kind.elements = element_count(plan);
  kind.bytes = tensor.stored_bytes();
  // The elements are those of a tensor in a file: their bytes as floats fit.
  kind.float_bytes = kind.elements * (bits(plan.output) / 8);
  return kind;
}

FoldedTensors sum_of(const std::vector<FoldedTensors>& tensors) {
  FoldedTensors sum;
  for (const FoldedTensors& t : tensors) {
    sum.count += t.count;
    sum.elements += t.elements;
    sum.bytes += t.bytes;
    sum.float_bytes += t.float_bytes;
  }
  return sum;
}

/// The sums of each scheme, in the order in which the file has the schemes. Bytes of a stored
/// tensor count once, as in inspect() and in reports of conversions.
std::vector<FoldedTensors> by_scheme(const std::vector<FoldedTensors>& tensors) {
  std::vector<FoldedTensors> out;
  for (const FoldedTensors& t : tensors) {
    auto found = std::find_if(out.begin(), out.end(), [&](const FoldedTensors& s) {
      return s.scheme == t.scheme && s.output == t.output;
    });
    if (found == out.end()) {
      out.push_back({});
      found = out.end() - 1;
      found->scheme = t.scheme;
      found->output = t.output;
    }
    found->count += t.count;
    found->elements += t.elements;
    found->bytes += t.bytes_first;
    found->float_bytes += t.float_bytes;
  }
  return out;
}

void print(const std::string& title, const Table& table) {
  if (table.empty()) return;
  fmt::print("{}\n{}\n", title, table.text());
}

Table rest_table(const std::vector<FoldedTensors>& tensors, bool with_reason) {
  using enum Align;
  std::vector<Table::Column> columns{
      {"tensor"}, {"type"}, {"shape"}, {"tensors", right}, {"bytes", right}};
  if (with_reason) columns.push_back({"because"});
  Table table(columns);
  for (const FoldedTensors& t : tensors) {
    std::vector<std::string> cells{escaped(t.pattern), t.type, t.shape, fmt::format("{}", t.count),
                                   fmt::format("{}", t.bytes)};
    if (with_reason) cells.push_back(t.reason);
    table.add(cells);
  }
  return table;
}

ordered_json list_of(const std::vector<FoldedTensors>& tensors, bool dense) {
  ordered_json list = ordered_json::array();
  for (const FoldedTensors& t : tensors) {
    ordered_json j{{"names", t.pattern}, {"count", t.count}};
    if (dense) j["scheme"] = t.scheme;
    j["type"] = t.type;
    if (dense) j["scale"] = t.scale;
    if (dense) j["granularity"] = t.granularity;
    if (dense) j["output_type"] = t.output;
    j["shape"] = t.shape;
    j["bytes"] = t.bytes;
    if (dense) j["elements"] = t.elements;
    if (dense) j["float_bytes"] = t.float_bytes;
    if (!t.reason.empty()) j["reason"] = t.reason;
    list.push_back(std::move(j));
  }
  return list;
}

}  // namespace

std::vector<FoldedTensors> folded(const std::vector<format::Converted>& converted) {
  Kinds kinds;
  for (const format::Converted& c : converted) {
    FoldedTensors kind;
    kind.scheme = c.scheme;
    kind.type = format::codes_text(c.plan);
    kind.output = name(c.plan.output);
    kind.shape = shape_text(c.shape);
    kind.count = 1;
    kind.bytes = c.bytes_before;
    kind.float_bytes = c.bytes_after;
    kinds.add(c.name, std::move(kind));
  }
  return kinds.folded();
}

Result<Structure> structure_of(format::ModelFile& file) {
  Kinds dense;
  Kinds left;
  Kinds copied;
  Kinds dropped;
  format::DistinctBytes distinct;
  DEQUANT_CHECK(file.visit({[&](const DenseTensor& tensor) {
                              FoldedTensors kind = kind_of(tensor);
                              kind.bytes_first = distinct.add(file, tensor);
                              dense.add(tensor.name, std::move(kind));
                              return Status();
                            },
                            [&](const LeftTensor& tensor) {
                              FoldedTensors kind;
                              kind.count = 1;
                              kind.reason = tensor.reason;
                              kind.type = tensor.type;
                              if (!tensor.type.empty()) kind.shape = shape_text(tensor.shape);
                              kind.bytes = tensor.bytes;
                              left.add(tensor.name, std::move(kind));
                              return Status();
                            }}));
  DEQUANT_CHECK(file.visit_rest([&](const RestTensor& tensor) {
    FoldedTensors kind;
    kind.type = tensor.type;
    kind.shape = shape_text(tensor.shape);
    kind.reason = tensor.dropped;
    kind.count = 1;
    kind.bytes = tensor.bytes;
    (tensor.dropped.empty() ? copied : dropped).add(tensor.name, std::move(kind));
    return Status();
  }));
  return Structure{dense.folded(), left.folded(), copied.folded(), dropped.folded()};
}

void print_structure(const format::ModelFile& file, const Structure& structure) {
  using enum Align;
  Table metadata({{"metadata"}, {"value"}});
  for (const format::Headline& line : file.details()) metadata.add({line.title, line.value});
  const format::Headline headline = file.headline();
  print(fmt::format("{}: {} ({})", headline.title, headline.value, headline.more), metadata);
  Table dense({{"tensor"},
               {"scheme"},
               {"type"},
               {"shape"},
               {"scales"},
               {"tensors", right},
               {"bytes", right},
               {"as float", right}});
  for (const FoldedTensors& t : structure.dense) {
    dense.add({escaped(t.pattern), t.scheme, fmt::format("{} -> {}", t.type, t.output), t.shape,
               fmt::format("{}{}{}", t.scale, t.scale.empty() ? "" : ", ", t.granularity),
               fmt::format("{}", t.count), fmt::format("{}", t.bytes),
               fmt::format("{}", t.float_bytes)});
  }
  print(file.format().words.dense_title, dense);
  print(file.format().words.left_title, rest_table(structure.left, true));
  print("Copied as they are", rest_table(structure.copied, false));
  print("Not needed", rest_table(structure.dropped, true));
  for (const FoldedTensors& s : by_scheme(structure.dense)) {
    fmt::print("{}: {} tensor{}, {} elements, {} now, {} as {}\n", s.scheme, s.count,
               s.count == 1 ? "" : "s", s.elements, human_bytes(s.bytes),
               human_bytes(s.float_bytes), s.output);
  }
  const FoldedTensors copied = sum_of(structure.copied);
  const FoldedTensors dropped = sum_of(structure.dropped);
  fmt::print("copied: {} tensors, {}; not needed: {} tensors, {}; left: {}\n", copied.count,
             human_bytes(copied.bytes), dropped.count, human_bytes(dropped.bytes),
             sum_of(structure.left).count);
}

ordered_json to_json(const format::ModelFile& file, const Structure& structure) {
  ordered_json j = file.facts();
  j["dense"] = list_of(structure.dense, true);
  j["left"] = list_of(structure.left, false);
  j["copied"] = list_of(structure.copied, false);
  j["dropped"] = list_of(structure.dropped, false);
  j["totals"] = ordered_json::array();
  for (const FoldedTensors& s : by_scheme(structure.dense)) {
    j["totals"].push_back({{"scheme", s.scheme},
                           {"output_type", s.output},
                           {"tensors", s.count},
                           {"elements", s.elements},
                           {"bytes", s.bytes},
                           {"float_bytes", s.float_bytes}});
  }
  return j;
}

}  // namespace dequant::tools
