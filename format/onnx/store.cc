// The memory of a model's structure.
#include "format/onnx/store.h"

#include <cstring>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dequant::format::onnx {
namespace {

constexpr size_t kFirstTable = 256;

uint64_t random_seed() {
  thread_local std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Store::Store() : table_(kFirstTable), seed_(random_seed()) {}

void* Store::allocate(size_t bytes, size_t alignment) {
  bytes_ += static_cast<int64_t>(bytes);
  return arena_.allocate(bytes, alignment);
}

/// The index of the table's slot that holds the text, or of the empty slot where it belongs.
size_t Store::slot_of(std::string_view characters) const {
  const size_t mask = table_.size() - 1;
  size_t at = XXH3_64bits_withSeed(characters.data(), characters.size(), seed_) & mask;
  while (table_[at] != nullptr && Text(table_[at]) != characters) at = (at + 1) & mask;
  return at;
}

Text Store::find(std::string_view characters) const {
  return characters.empty() ? Text() : Text(table_[slot_of(characters)]);
}

Text Store::text(std::string_view characters) {
  if (characters.empty()) return {};
  size_t slot = slot_of(characters);
  if (table_[slot] != nullptr) return Text(table_[slot]);
  if ((texts_ + 1) * 8 > table_.size() * 7) {
    grow();
    slot = slot_of(characters);
  }
  void* memory = allocate(sizeof(Text::Entry) + characters.size() + 1, alignof(Text::Entry));
  auto* entry = new (memory) Text::Entry{static_cast<uint32_t>(characters.size()), 0};
  char* to = reinterpret_cast<char*>(entry + 1);
  std::memcpy(to, characters.data(), characters.size());
  to[characters.size()] = '\0';
  table_[slot] = entry;
  ++texts_;
  return Text(entry);
}

void Store::grow() {
  std::vector<Text::Entry*> old(table_.size() * 2);
  old.swap(table_);
  for (Text::Entry* entry : old) {
    if (entry != nullptr) table_[slot_of(Text(entry))] = entry;
  }
  bytes_ += static_cast<int64_t>(old.size() * sizeof(Text::Entry*));
}

void Store::clear_definitions() {
  for (Text::Entry* entry : table_) {
    if (entry != nullptr) entry->definition = 0;
  }
}

}  // namespace dequant::format::onnx
