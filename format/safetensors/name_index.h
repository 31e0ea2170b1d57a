// Finding entries of a header by their names, and names that occur twice.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace dequant::format::safetensors {

/// The numbers of entries, sorted by the hashes of their names. Where hashes are equal the names
/// decide, so that no choice of names makes it slow. `name_of(i)` is the name of entry i, the same
/// at each call.
class NameIndex {
 public:
  NameIndex() = default;

  /// Demands fewer than 2^32 entries.
  template <class NameOf>
  NameIndex(size_t count, NameOf&& name_of) : slots_(count) {
    for (size_t i = 0; i < count; ++i) {
      slots_[i] = {hash_of(name_of(i)), static_cast<uint32_t>(i)};
    }
    std::sort(slots_.begin(), slots_.end(), [&](Slot a, Slot b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      const int order = name_of(a.entry).compare(name_of(b.entry));
      return order != 0 ? order < 0 : a.entry < b.entry;
    });
  }

  /// The first entry whose name an earlier one has, if there is one.
  template <class NameOf>
  std::optional<size_t> repeated(NameOf&& name_of) const {
    std::optional<size_t> first;
    for (size_t i = 1; i < slots_.size(); ++i) {
      const Slot a = slots_[i - 1];
      const Slot b = slots_[i];
      if (a.hash != b.hash || name_of(a.entry) != name_of(b.entry)) continue;
      first = std::min<size_t>(first.value_or(b.entry), b.entry);
    }
    return first;
  }

  /// The entry of that name, if there is one.
  template <class NameOf>
  std::optional<size_t> find(std::string_view name, NameOf&& name_of) const {
    const uint32_t hash = hash_of(name);
    const auto is_before = [&](Slot slot, std::string_view wanted) {
      return slot.hash != hash ? slot.hash < hash : name_of(slot.entry) < wanted;
    };
    const auto found = std::lower_bound(slots_.begin(), slots_.end(), name, is_before);
    if (found == slots_.end() || name_of(found->entry) != name) return std::nullopt;
    return found->entry;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = 0;
  };

  static uint32_t hash_of(std::string_view name) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(name));
  }

  std::vector<Slot> slots_;
};

}  // namespace dequant::format::safetensors
