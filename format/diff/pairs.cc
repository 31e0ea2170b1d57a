// Pairing the tensors of two model files by their names.
#include "format/diff/pairs.h"

#include <algorithm>
#include <unordered_set>

namespace dequant::format {
namespace {

constexpr size_t kNone = SIZE_MAX;

constexpr const char* kRepeated = "several tensors have that name";

}  // namespace

Result<NamedTensors> NamedTensors::of(ModelFile& file) {
  NamedTensors out;
  const auto add_dense = [&](const DenseTensor& tensor) -> Status {
    const auto [at, is_new] = out.by_name_.try_emplace(tensor.name, out.tensors_.size());
    if (is_new) {
      out.names_.push_back(tensor.name);
    } else {
      at->second = kNone;
      out.reasons_.insert_or_assign(tensor.name, kRepeated);
    }
    out.tensors_.push_back(tensor);
    out.add(tensor);
    return {};
  };
  DEQUANT_CHECK(file.visit({add_dense, [](const LeftTensor&) { return Status(); }}));
  const auto add_unread = [&](const LeftTensor& tensor) -> Status {
    const bool is_new = out.by_name_.insert_or_assign(tensor.name, kNone).second;
    if (is_new) out.names_.push_back(tensor.name);
    out.reasons_.insert_or_assign(tensor.name, is_new ? tensor.reason : kRepeated);
    return {};
  };
  DEQUANT_CHECK(file.visit_floats({add_dense, add_unread}));
  return out;
}

void NamedTensors::add(const TensorFacts& facts) {
  const auto note = [&](Index& index, std::string_view name) {
    if (name.empty()) return;
    const auto [at, is_new] = index.try_emplace(name, facts.name);
    if (!is_new) at->second = {};
  };
  note(by_node_, facts.node);
  note(by_source_, facts.source);
  note(by_original_, facts.original);
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
