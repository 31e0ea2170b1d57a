// Pairing the tensors of two model files by their names.
#include "format/diff/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace dequant::format {
namespace {

constexpr const char* kRepeated = "several tensors have that name";

}  // namespace

Result<NamedTensors> NamedTensors::of(ModelFile& file) {
  NamedTensors out;
  std::vector<Found> found;
  const auto dense = [&](const DenseTensor& tensor) -> Status {
    if (tensor.inner) return {};
    found.push_back({tensor, out.tensors_.size(), {}});
    out.tensors_.push_back(tensor);
    return {};
  };
  const auto unread = [&](const LeftTensor& tensor) -> Status {
    found.push_back({tensor, kNone, tensor.reason});
    return {};
  };
  const auto left = [&](const LeftTensor& tensor) {
    return tensor.unread ? unread(tensor) : Status();
  };
  DEQUANT_CHECK(file.visit({dense, left}));
  DEQUANT_CHECK(file.visit_floats({dense, unread}));
  out.name_all(std::move(found));
  return out;
}

void NamedTensors::name_all(std::vector<Found> found) {
  std::unordered_map<std::string_view, size_t> counts;
  for (const Found& f : found) ++counts[f.facts.name];
  std::unordered_map<std::string_view, size_t> numbers;  // of names with a graph
  for (Found& f : found) {
    std::string_view name = f.facts.name;
    if (counts.at(name) > 1) {
      const std::string_view graph = f.facts.graph;
      name = texts_.emplace_back(graph.empty() ? std::string(name)
                                               : fmt::format("{}/{}", graph, name));
      const size_t number = ++numbers[name];
      if (number > 1) name = texts_.emplace_back(fmt::format("{}#{}", name, number));
    }
    add(std::move(f), name);
  }
}

void NamedTensors::add(Found found, std::string_view name) {
  const bool is_new = by_name_.try_emplace(name, found.dense).second;
  if (is_new) {
    names_.push_back(name);
    if (!found.reason.empty()) reasons_.insert_or_assign(name, std::move(found.reason));
  } else {  // a name as "GRAPH/NAME" of another tensor
    by_name_.insert_or_assign(name, kNone);
    reasons_.insert_or_assign(name, kRepeated);
  }
  if (found.dense == kNone) return;
  const auto note = [&](Index& index, std::string_view other) {
    if (other.empty()) return;
    const auto [known, is_first] = index.try_emplace(other, name);
    if (!is_first) known->second.reset();
  };
  note(by_node_, found.facts.node);
  note(by_source_, found.facts.source);
  note(by_original_, found.facts.original);
  if (!found.facts.original.empty()) originals_.try_emplace(name, found.facts.original);
}

const DenseTensor* NamedTensors::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() || at->second == kNone ? nullptr : &tensors_[at->second];
}

std::string NamedTensors::reason(std::string_view name) const {
  const auto at = reasons_.find(name);
  return at == reasons_.end() ? std::string() : at->second;
}

std::string_view NamedTensors::original_of(std::string_view name) const {
  const auto at = originals_.find(name);
  return at == originals_.end() ? std::string_view() : at->second;
}

std::optional<std::string_view> NamedTensors::known_as(std::string_view name) const {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return at->first;
  for (const Index* index : {&by_node_, &by_source_, &by_original_}) {
    if (const auto at = index->find(name); at != index->end()) return at->second;
  }
  return {};
}

namespace {

/// Finds pairs of names. A name of a may have several in b where these share an original name.
class Pairer {
 public:
  Pairer(const NamedTensors& a, const NamedTensors& b) : a_(a), b_(b) {}

  Pairing run() {
    for (const std::string_view name : a_.names()) note(name, b_.known_as(name));
    for (const std::string_view name : b_.names()) {
      if (!taken_.contains(name)) note(a_.known_as(name), name);
    }
    note_same(a_.by_original(), b_.by_original());
    note_same(a_.by_source(), b_.by_source());
    note_several_in_b();
    note_several_in_a();
    return pairing();
  }

 private:
  using Name = std::optional<std::string_view>;

  void note(Name in_a, Name in_b) {
    if (!in_a || !in_b || in_b_.contains(*in_a)) return;
    in_b_[*in_a].push_back(*in_b);
    taken_.insert(*in_b);
  }

  void note_same(const NamedTensors::Index& of_a, const NamedTensors::Index& of_b) {
    for (const auto& [shared, name] : of_a) {
      const auto at = of_b.find(shared);
      if (at != of_b.end() && at->second && !taken_.contains(*at->second)) note(name, at->second);
    }
  }

  /// Several tensors of b that were one, which a has.
  void note_several_in_b() {
    std::unordered_map<std::string_view, std::vector<std::string_view>> found;
    for (const std::string_view name : b_.names()) {
      const std::string_view original = b_.original_of(name);
      if (original.empty() || taken_.contains(name)) continue;
      if (a_.has(original) && !in_b_.contains(original)) found[original].push_back(name);
    }
    for (auto& [name, others] : found) {
      taken_.insert(others.begin(), others.end());
      in_b_.emplace(name, std::move(others));
    }
  }

  /// Several tensors of a that were one, which b has.
  void note_several_in_a() {
    std::unordered_set<std::string_view> found;
    for (const std::string_view name : a_.names()) {
      const std::string_view original = a_.original_of(name);
      if (original.empty() || in_b_.contains(name)) continue;
      if (!b_.has(original) || taken_.contains(original)) continue;
      in_b_[name].push_back(original);
      found.insert(original);
    }
    taken_.merge(found);
  }

  Pairing pairing() const {
    Pairing out;
    for (const std::string_view name : a_.names()) {
      const auto at = in_b_.find(name);
      if (at == in_b_.end()) {
        out.only_in_a.push_back(name);
        continue;
      }
      for (const std::string_view other : at->second) out.pairs.push_back({name, other});
    }
    std::copy_if(b_.names().begin(), b_.names().end(), std::back_inserter(out.only_in_b),
                 [&](std::string_view name) { return !taken_.contains(name); });
    return out;
  }

  const NamedTensors& a_;
  const NamedTensors& b_;
  std::unordered_map<std::string_view, std::vector<std::string_view>> in_b_;  ///< by the name in a
  std::unordered_set<std::string_view> taken_;                                ///< names in b
};

}  // namespace

Pairing paired(const NamedTensors& a, const NamedTensors& b) { return Pairer(a, b).run(); }

}  // namespace dequant::format
