// A flatbuffer in a file. FlatBuffers' own verifier checks every table, field, text and vector
// before its first access. Of the file only the pages with these are in memory, not the data of
// tensors.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format::tflite {

/// A range of the file.
struct Bytes {
  int64_t offset = 0;
  int64_t size = 0;

  int64_t end() const { return offset + size; }
};

/// The numbers of a verified vector. They may have any alignment.
template <class T>
class Numbers {
 public:
  Numbers() = default;
  Numbers(const uint8_t* data, size_t size, int64_t offset)
      : data_(data), size_(size), offset_(offset) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t offset() const { return offset_; }  ///< of the first number in the file
  T operator[](size_t i) const {
    T number{};
    std::memcpy(&number, data_ + i * sizeof(T), sizeof(T));
    return number;
  }
  /// The bytes of all numbers, as a key.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(data_), size_ * sizeof(T)};
  }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
  int64_t offset_ = 0;
};

class Flatbuffer;
class Tables;

/// A table whose start is verified. Functions that return a Result verify the field first, and fail
/// with malformed where it is not within the file, with limit where the structure needs too much
/// memory, and with io. Fields are given by their numbers. What is returned is valid as long as the
/// Flatbuffer.
class Table {
 public:
  bool has(uint16_t field) const { return place_of(field) != 0; }
  template <class T>
  Result<T> number(uint16_t field, T otherwise) const;
  /// Empty where the table does not have the field; likewise below.
  Result<std::string_view> text(uint16_t field) const;
  template <class T>
  Result<Numbers<T>> numbers(uint16_t field) const;
  /// Where the bytes of a vector are, which are not read.
  Result<Bytes> bytes(uint16_t field) const;
  Result<std::optional<Table>> table(uint16_t field) const;
  Result<Tables> tables(uint16_t field) const;

 private:
  friend class Flatbuffer;
  friend class Tables;

  Table(Flatbuffer& file, size_t place) : file_(&file), place_(place) {}
  const flatbuffers::Table& verified() const;
  /// The place of the field in the file, or 0.
  size_t place_of(uint16_t field) const;
  /// The place that an offset leads to, or 0.
  Result<size_t> target(uint16_t field) const;
  /// A vector: where its length is, and the length; 0 and 0 where there is none.
  Result<std::pair<size_t, size_t>> vector(uint16_t field, size_t bytes_of_element,
                                           bool load) const;

  Flatbuffer* file_;
  size_t place_;
};

/// A verified vector of offsets of tables.
class Tables {
 public:
  Tables() = default;
  size_t size() const { return size_; }
  /// Verifies the table of an index below size(). Fails as the functions of Table do.
  Result<Table> at(size_t i) const;

 private:
  friend class Table;

  Flatbuffer* file_ = nullptr;
  size_t place_ = 0;
  size_t size_ = 0;
};

class Flatbuffer {
 public:
  /// The file must outlive this object. The structure of the model may take 32 MiB and 8 times its
  /// bytes in the file, or `memory` bytes if these are more. Fails with out_of_memory.
  static Result<std::unique_ptr<Flatbuffer>> open(const InputFile& file, int64_t memory);

  /// The root table. Fails with malformed where the file does not have this identifier, and as the
  /// functions of Table do.
  Result<Table> root(std::string_view identifier);

  /// Where the last byte of all that was verified ends.
  int64_t end() const { return static_cast<int64_t>(end_); }

  /// Counts memory that the reader of the structure takes: what tables share, it has for each.
  /// Fails with limit.
  Status take(size_t bytes);

 private:
  friend class Table;
  friend class Tables;

  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };

  /// Offsets of flatbuffers reach no farther; what a longer file has behind them are data.
  static constexpr size_t kMostBytes = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  static constexpr size_t kMostTables = 1'000'000;
  static constexpr size_t kPage = 4096;

  Flatbuffer(const InputFile& file, std::unique_ptr<uint8_t, Free> bytes, size_t size,
             size_t memory);
  /// Reads a range, if the file has all of it. Must come before the verifier looks at the range.
  Status load(size_t place, size_t size);
  Result<Table> table_at(size_t place);
  template <class T>
  T loaded(size_t place) const {
    T number{};
    std::memcpy(&number, bytes_.get() + place, sizeof(T));
    return number;
  }
  bool has(size_t place, size_t size) const { return place <= size_ && size <= size_ - place; }
  static Error malformed(size_t place, const char* what);

  const InputFile& file_;
  const std::unique_ptr<uint8_t, Free> bytes_;  ///< untouched but for pages that were read
  const size_t size_;
  const size_t memory_;  ///< that the caller allows
  flatbuffers::Verifier verifier_;
  std::vector<bool> pages_;
  std::unordered_set<size_t> long_;  ///< places of vectors of many pages that were read
  size_t read_ = 0;                  ///< bytes of pages that were read
  size_t taken_ = 0;                 ///< bytes of memory, pages included
  size_t end_ = 0;
  size_t tables_ = 0;
};

}  // namespace dequant::format::tflite
