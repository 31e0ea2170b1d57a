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
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Store::Store() : table_(kFirstTable), seed_(random_seed()) {}

void* Store::allocate(size_t bytes, size_t alignment) {
  bytes_ += static_cast<int64_t>(bytes);
  return arena_.allocate(bytes, alignment);
}

/// Where a text is in the table, or would be.
size_t Store::place_of(std::string_view characters) const {
  const size_t mask = table_.size() - 1;
  size_t at = XXH3_64bits_withSeed(characters.data(), characters.size(), seed_) & mask;
  while (table_[at] != nullptr && Text(table_[at]) != characters) at = (at + 1) & mask;
  return at;
}

Text Store::find(std::string_view characters) const {
  return characters.empty() ? Text() : Text(table_[place_of(characters)]);
}

Text Store::text(std::string_view characters) {
  if (characters.empty()) return {};
  size_t place = place_of(characters);
  if (table_[place] != nullptr) return Text(table_[place]);
  if ((texts_ + 1) * 8 > table_.size() * 7) {
    grow();
    place = place_of(characters);
  }
  void* memory = allocate(sizeof(Text::Entry) + characters.size() + 1, alignof(Text::Entry));
  auto* entry = new (memory) Text::Entry{static_cast<uint32_t>(characters.size()), 0};
  char* to = reinterpret_cast<char*>(entry + 1);
  std::memcpy(to, characters.data(), characters.size());
  to[characters.size()] = '\0';
  table_[place] = entry;
  ++texts_;
  return Text(entry);
}

void Store::grow() {
  std::vector<Text::Entry*> old(table_.size() * 2);
  old.swap(table_);
  for (Text::Entry* entry : old) {
    if (entry != nullptr) table_[place_of(Text(entry))] = entry;
  }
  bytes_ += static_cast<int64_t>(old.size() * sizeof(Text::Entry*));
}

void Store::clear_definitions() {
  for (Text::Entry* entry : table_) {
    if (entry != nullptr) entry->definition = 0;
  }
}

}  // namespace dequant::format::onnx
