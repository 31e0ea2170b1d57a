// The memory of a model's structure: an arena that is freed at once, in which equal texts are one.
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

/// A text in a Store, valid as long as the store exists. Equal texts of a store have one entry.
class Text {
 public:
  /// The head of a text in the store; its characters and a zero byte follow in memory.
  struct Entry {
    uint32_t size = 0;
    uint32_t definition = 0;  ///< used by Scopes: of this name in the main graph; 0: none
  };

  Text() = default;
  explicit Text(Entry* entry) : entry_(entry) {}

  Entry* entry() const { return entry_; }
  bool empty() const { return entry_ == nullptr; }
  size_t size() const { return entry_ == nullptr ? 0 : entry_->size; }
  /// The characters and a zero byte; a text from a file may contain further zero bytes.
  const char* c_str() const { return entry_ == nullptr ? "" : reinterpret_cast<char*>(entry_ + 1); }

  // No conversion to std::string: a view of such a temporary would dangle.
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

/// Allocates objects that are freed with the store. Their destructors are not called.
class Store {
 public:
  Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The text with these characters, which is added if the store does not have it.
  Text text(std::string_view characters);

  /// The text with these characters, or the empty text where the store does not have it.
  Text find(std::string_view characters) const;

  /// A value-initialized object.
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

  /// Bytes of all objects and of the table of texts.
  int64_t bytes() const { return bytes_; }

  /// Sets Entry::definition of all texts to 0.
  void clear_definitions();

 private:
  void* allocate(size_t bytes, size_t alignment);
  size_t slot_of(std::string_view characters) const;
  void grow();

  std::pmr::monotonic_buffer_resource arena_;
  std::vector<Text::Entry*> table_;  ///< open addressing; a power of two, at most 7/8 full
  size_t texts_ = 0;
  uint64_t seed_;  ///< random seed of the hash, so that no file can choose names that collide
  int64_t bytes_ = 0;
};

/// A linked list of objects in a store. Each object has a pointer `next` to the next object.
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

  /// Adds an object behind `at`, which is in the list. Iterators stay valid.
  T& insert_after(T& at, Store& store) {
    if (&at == last_) return add(store);
    T& made = store.create<T>();
    made.next = std::exchange(at.next, &made);
    ++size_;
    return made;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
  size_t size_ = 0;
};

}  // namespace dequant::format::onnx
