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
    if (!is_first) known->second = {};
  };
  note(by_node_, found.facts.node);
  note(by_source_, found.facts.source);
  note(by_original_, found.facts.original);
}

const DenseTensor* NamedTensors::find(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() || at->second == kNone ? nullptr : &tensors_[at->second];
}

std::string NamedTensors::reason(std::string_view name) const {
  const auto at = reasons_.find(name);
  return at == reasons_.end() ? std::string() : at->second;
}

std::string_view NamedTensors::known_as(std::string_view name) const {
  if (const auto at = by_name_.find(name); at != by_name_.end()) return at->first;
  for (const Index* index : {&by_node_, &by_source_, &by_original_}) {
    if (const auto at = index->find(name); at != index->end()) return at->second;
  }
  return {};
}

Pairing paired(const NamedTensors& a, const NamedTensors& b) {
  std::unordered_map<std::string_view, std::string_view> in_b;  // by the name in a
  std::unordered_set<std::string_view> taken;                   // names in b
  const auto note = [&](std::string_view in_a, std::string_view other) {
    if (!in_a.empty() && !other.empty() && in_b.try_emplace(in_a, other).second)
      taken.insert(other);
  };
  for (const std::string_view name : a.names()) note(name, b.known_as(name));
  for (const std::string_view name : b.names()) {
    if (!taken.contains(name)) note(a.known_as(name), name);
  }
  const auto note_same = [&](const NamedTensors::Index& of_a, const NamedTensors::Index& of_b) {
    for (const auto& [shared, name] : of_a) {
      const auto at = of_b.find(shared);
      if (at != of_b.end() && !taken.contains(at->second)) note(name, at->second);
    }
  };
  note_same(a.by_original(), b.by_original());
  note_same(a.by_source(), b.by_source());
  Pairing pairing;
  for (const std::string_view name : a.names()) {
    if (const auto at = in_b.find(name); at != in_b.end()) {
      pairing.pairs.push_back({name, at->second});
    } else {
      pairing.only_in_a.push_back(name);
    }
  }
  std::copy_if(b.names().begin(), b.names().end(), std::back_inserter(pairing.only_in_b),
               [&](std::string_view name) { return !taken.contains(name); });
  return pairing;
}

}  // namespace dequant::format
