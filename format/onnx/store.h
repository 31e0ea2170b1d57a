// The memory of a model's structure: one arena that is freed at once, and each text only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dequant::format::onnx {

/// A text in a Store, valid as long as the store. Equal texts of one store have one entry.
class Text {
 public:
  /// What a store holds of a text; the characters and a zero byte follow.
  struct Entry {
    uint32_t size = 0;
    uint32_t definition = 0;  ///< of the main graph's name; kept here for Scopes, 0: none
  };

  Text() = default;
  explicit Text(Entry* entry) : entry_(entry) {}

  Entry* entry() const { return entry_; }
  bool empty() const { return entry_ == nullptr; }
  size_t size() const { return entry_ == nullptr ? 0 : entry_->size; }
  /// Ends with a zero byte; a text from a file may hold others.
  const char* c_str() const { return entry_ == nullptr ? "" : reinterpret_cast<char*>(entry_ + 1); }

  // No conversion to std::string: views of it would not live as long as the store.
  operator std::string_view() const { return {c_str(), size()}; }
  std::string str() const { return std::string(c_str(), size()); }
  bool starts_with(std::string_view start) const {
    return std::string_view(*this).starts_with(start);
  }
  friend bool operator==(Text a, Text b) { return std::string_view(a) == std::string_view(b); }
  friend bool operator==(Text a, std::string_view b) { return std::string_view(a) == b; }
  friend bool operator==(Text a, const char* b) { return std::string_view(a) == b; }

 private:
  Entry* entry_ = nullptr;  ///< null: the empty text
};

/// Hands out memory that is given back when the store goes; what lies in it has no destructor.
class Store {
 public:
  Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The text with these characters, made if it is not there yet.
  Text text(std::string_view characters);

  /// The text with these characters, or the empty one where the store has none.
  Text find(std::string_view characters) const;

  template <class T>
  T& create() {
    static_assert(std::is_trivially_destructible_v<T>);
    return *new (allocate(sizeof(T), alignof(T))) T();
  }

  /// A copy of the elements.
  template <class T>
  std::span<T> array(std::span<const T> from) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (from.empty()) return {};
    T* to = static_cast<T*>(allocate(from.size() * sizeof(T), alignof(T)));
    std::uninitialized_copy(from.begin(), from.end(), to);
    return {to, from.size()};
  }

  /// Bytes handed out, and those of the table of texts.
  int64_t bytes() const { return bytes_; }

  /// Forgets which definition each name of the main graph has.
  void clear_definitions();

 private:
  void* allocate(size_t bytes, size_t alignment);
  size_t slot_of(std::string_view characters) const;
  void grow();

  std::pmr::monotonic_buffer_resource arena_;
  std::vector<Text::Entry*> table_;  ///< open addressing; a power of two, at most 7/8 full
  size_t texts_ = 0;
  uint64_t seed_;  ///< of the hash, so that no file can choose names that collide
  int64_t bytes_ = 0;
};

/// Things of a store in order, each of which has a pointer `next` to the one behind it.
template <class T>
class List {
 public:
  class Iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(T* at) : at_(at) {}
    T& operator*() const { return *at_; }
    T* operator->() const { return at_; }
    Iterator& operator++() { return at_ = at_->next, *this; }
    Iterator operator++(int) { return Iterator(std::exchange(at_, at_->next)); }
    friend bool operator==(Iterator, Iterator) = default;

   private:
    T* at_ = nullptr;
  };

  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(); }
  bool empty() const { return first_ == nullptr; }
  size_t size() const { return size_; }
  T& front() const { return *first_; }
  T& back() const { return *last_; }

  T& add(Store& store) {
    T& made = store.create<T>();
    (last_ == nullptr ? first_ : last_->next) = &made;
    ++size_;
    return *(last_ = &made);
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace dequant::format::onnx
