// GGUF files from numbers, and a naive reader of their headers.
#include "fuzz/support/gguf.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "format/io/utf8.h"

namespace dequant::fuzz {
namespace {

using Wide = unsigned __int128;

/// Elements and bytes of a block, by the numbers of types.
const std::map<uint32_t, std::pair<unsigned, unsigned>> kTypes{
    {0, {1, 4}},      {1, {1, 2}},      {2, {32, 18}},    {3, {32, 20}},    {6, {32, 22}},
    {7, {32, 24}},    {8, {32, 34}},    {9, {32, 36}},    {10, {256, 84}},  {11, {256, 110}},
    {12, {256, 144}}, {13, {256, 176}}, {14, {256, 210}}, {15, {256, 292}}, {16, {256, 66}},
    {17, {256, 74}},  {18, {256, 98}},  {19, {256, 50}},  {20, {32, 18}},   {21, {256, 110}},
    {22, {256, 82}},  {23, {256, 136}}, {24, {1, 1}},     {25, {1, 2}},     {26, {1, 4}},
    {27, {1, 8}},     {28, {1, 8}},     {29, {256, 56}},  {30, {1, 2}},     {34, {256, 54}},
    {35, {256, 66}},  {39, {32, 17}},   {40, {64, 36}},   {41, {128, 18}},  {42, {64, 18}}};

/// By the numbers of types of values; 0: a text or an array.
constexpr unsigned kValueBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr uint32_t kText = 8;
constexpr uint32_t kArray = 9;

/// A file in memory. After a read beyond the end nothing is good.
class Naive {
 public:
  explicit Naive(std::string_view file) : file_(file) {}

  bool good = true;
  bool big = false;

  size_t at() const { return at_; }
  std::string_view bytes(uint64_t count) {
    good = good && count <= file_.size() - at_;
    if (!good) return {};
    at_ += count;
    return file_.substr(at_ - count, count);
  }
  uint64_t number(unsigned size) {
    std::string text(bytes(size));
    if (!big) std::reverse(text.begin(), text.end());
    uint64_t value = 0;
    for (const char c : text) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }
  std::string name() {
    const std::string text(bytes(number(8)));
    for (size_t i = 0; i < text.size();) {
      const size_t length = format::utf8_length(text, i);
      good = good && length > 0 && text[i] != '\0';
      i += std::max<size_t>(length, 1);
    }
    good = good && text.size() <= 65'535;
    return text;
  }
  void value(uint32_t type) {
    good = good && type < std::size(kValueBytes) && type != kArray;
    if (!good) return;
    bytes(type == kText ? number(8) : kValueBytes[type]);
  }

 private:
  std::string_view file_;
  size_t at_ = 0;
};

/// Reads the pairs; returns the alignment.
uint64_t read_pairs(Naive& file, uint64_t count) {
  std::set<std::string> keys;
  uint64_t alignment = 32;
  for (uint64_t i = 0; i < count && file.good; ++i) {
    const std::string key = file.name();
    file.good = file.good && !key.empty() && keys.insert(key).second;
    const auto type = static_cast<uint32_t>(file.number(4));
    if (key == "general.alignment") {
      alignment = file.number(4);
      file.good = file.good && type == 4 && alignment > 0 && (alignment & (alignment - 1)) == 0;
    } else if (type == kArray) {
      const auto element = static_cast<uint32_t>(file.number(4));
      const uint64_t elements = file.number(8);
      file.good = file.good && element < std::size(kValueBytes) && element != kArray;
      for (uint64_t k = 0; k < elements && file.good; ++k) file.value(element);
    } else {
      file.value(type);
    }
  }
  return alignment;
}

/// The bytes of a tensor; none where no file can have so many, also where a zero hides them.
std::optional<uint64_t> bytes_of(const NaiveTensor& tensor) {
  const auto type = kTypes.find(tensor.type);
  if (type == kTypes.end()) return std::nullopt;
  const auto [elements, bytes] = type->second;
  Wide count = 1;
  for (const uint64_t size : tensor.shape) {
    if (size > INT64_MAX) return std::nullopt;
    if (size > 0) count *= size;
    if (count > INT64_MAX) return std::nullopt;
  }
  if (std::count(tensor.shape.begin(), tensor.shape.end(), 0U) > 0) count = 0;
  const uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  const Wide all = count / elements * bytes;
  if (row % elements != 0 || all > INT64_MAX) return std::nullopt;
  return static_cast<uint64_t>(all);
}

std::string number(uint64_t value, unsigned size, bool big) {
  std::string out;
  for (unsigned k = 0; k < size; ++k) out += static_cast<char>(value >> (8 * k));
  if (big) std::reverse(out.begin(), out.end());
  return out;
}

/// Makes a file of numbers.
class Maker {
 public:
  explicit Maker(Cursor& cursor) : c_(cursor), big_(cursor.rarely()) {}

  std::string make() {
    const auto pairs = c_.below(5);
    const auto tensors = c_.below(4);
    out_ = "GGUF" + u32(c_.rarely() ? c_.raw<uint32_t>() : 2 + c_.below(2)) + u64(odd(tensors)) +
           u64(odd(pairs));
    for (uint32_t i = 0; i < pairs; ++i) pair(i);
    for (uint32_t i = 0; i < tensors; ++i) tensor(i);
    out_.resize((out_.size() + alignment_ - 1) / alignment_ * alignment_ + next_);
    if (c_.rarely()) out_.resize(c_.below(out_.size() + 1));
    return std::move(out_);
  }

 private:
  std::string u32(uint64_t value) { return number(value, 4, big_); }
  std::string u64(uint64_t value) { return number(value, 8, big_); }
  /// Rarely another number.
  uint64_t odd(uint64_t value) { return c_.rarely() ? static_cast<uint64_t>(c_.extreme()) : value; }
  std::string text(std::string_view text) { return u64(odd(text.size())).append(text); }

  void pair(uint32_t i) {
    const std::string own = "k" + std::string(i, 'k');
    const std::string key = c_.rarely() ? "k" : c_.rarely() ? "general.alignment" : own;
    if (key == "general.alignment") {
      alignment_ = size_t{1} << c_.below(8);
      out_ += text(key) + u32(odd(4)) + u32(odd(alignment_));
      return;
    }
    const auto type = static_cast<uint32_t>(odd(c_.below(13)));
    out_ += text(key) + u32(type);
    if (type != kArray) return value(type);
    const auto element = static_cast<uint32_t>(odd(c_.below(13)));
    const uint32_t count = c_.below(4);
    out_ += u32(element) + u64(odd(count));
    for (uint32_t k = 0; k < count; ++k) value(element);
  }

  void value(uint32_t type) {
    if (type == kText) {
      out_ += text(std::string(c_.below(9), static_cast<char>(c_.byte())));
    } else if (type < std::size(kValueBytes)) {
      out_ += number(c_.raw<uint64_t>(), kValueBytes[type], big_);
    }
  }

  void tensor(uint32_t i) {
    constexpr const char* kNames[] = {"a.weight", "a.scale", "a.input_scale", "b"};
    NaiveTensor t;
    t.type = std::next(kTypes.begin(), c_.below(kTypes.size()))->first;
    if (i == 1 && c_.coin()) t.type = 0;
    t.shape.resize(c_.rarely() ? 5 : c_.below(5));
    for (uint64_t& size : t.shape) size = static_cast<uint64_t>(c_.size());
    if (!t.shape.empty()) t.shape.back() *= kTypes.at(t.type).first;
    out_ += text(kNames[c_.rarely() ? 0 : i]) + u32(odd(t.shape.size()));
    for (auto size = t.shape.rbegin(); size != t.shape.rend(); ++size) out_ += u64(*size);
    out_ += u32(odd(t.type)) + u64(odd(next_));
    const uint64_t bytes = bytes_of(t).value_or(0);
    if (bytes < 1 << 16) next_ = (next_ + bytes + alignment_ - 1) / alignment_ * alignment_;
  }

  Cursor& c_;
  const bool big_;
  size_t alignment_ = 32;
  size_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string gguf_file(Cursor& cursor) {
  if (cursor.byte() < 0x80) return Maker(cursor).make();
  const std::span<const uint8_t> rest = cursor.rest();
  return {rest.begin(), rest.end()};
}

std::optional<std::vector<NaiveTensor>> gguf_tensors(std::string_view bytes) {
  Naive file(bytes);
  if (file.bytes(4) != "GGUF") return std::nullopt;
  uint64_t version = file.number(4);
  if (version != 0 && version % 0x10000 == 0) {
    file.big = true;
    version = version >> 24 | (version >> 8 & 0xFF00);  // no version has more
  }
  const uint64_t count = file.number(8);
  const uint64_t pairs = file.number(8);
  if (!file.good || (version != 2 && version != 3)) return std::nullopt;
  const uint64_t alignment = read_pairs(file, pairs);
  std::vector<NaiveTensor> tensors;
  std::set<std::string> names;
  Wide next = 0;
  for (uint64_t i = 0; i < count && file.good; ++i) {
    NaiveTensor& t = tensors.emplace_back();
    t.name = file.name();
    const uint64_t rank = file.number(4);
    if (!file.good || rank > 8 || !names.insert(t.name).second) return std::nullopt;
    t.shape.resize(rank);
    for (size_t d = rank; d-- > 0;) t.shape[d] = file.number(8);
    t.type = static_cast<uint32_t>(file.number(4));
    t.offset = file.number(8);
    const auto size = bytes_of(t);
    if (!file.good || !size || t.offset != next) return std::nullopt;
    t.bytes = *size;
    next = (next + t.bytes + alignment - 1) / alignment * alignment;
  }
  if (!file.good) return std::nullopt;
  const uint64_t data = (file.at() + alignment - 1) / alignment * alignment;
  for (NaiveTensor& t : tensors) {
    if (Wide{data} + t.offset + t.bytes > bytes.size()) return std::nullopt;
    t.offset += data;
  }
  return tensors;
}

}  // namespace dequant::fuzz
