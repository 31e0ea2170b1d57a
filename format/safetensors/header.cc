// Reading the header of a safetensors file: where its text is, its members, and the data that its
// tensors share out.
#include "format/safetensors/header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "format/io/errors.h"
#include "format/io/look.h"
#include "format/safetensors/entry.h"
#include "format/safetensors/header_text.h"

namespace dequant::format::safetensors {
namespace {

constexpr int64_t kTextBegin = 8;
constexpr std::string_view kMetadata = "__metadata__";

/// The offset of the data.
Result<int64_t> find_data(const InputFile& file) {
  const int64_t rest = file.size() - kTextBegin;
  if (rest < 0) {
    return failure(ErrorCode::malformed, "{} bytes are not the 8 of a header's length",
                   file.size());
  }
  std::array<std::byte, kTextBegin> bytes{};
  DEQUANT_CHECK(file.read(0, bytes));
  static_assert(std::endian::native == std::endian::little);
  const auto length = std::bit_cast<uint64_t>(bytes);
  if (length > uint64_t{kMaxHeader}) {
    return failure(ErrorCode::malformed, "byte 0: header length {} is more than {}", length,
                   kMaxHeader);
  }
  if (static_cast<int64_t>(length) > rest) {
    return failure(ErrorCode::malformed,
                   "byte 0: header length {} in a file with {} bytes after it", length, rest);
  }
  return kTextBegin + static_cast<int64_t>(length);
}

Status check_first_byte(const InputFile& file, int64_t data) {
  std::array<char, 1> first{};
  const std::string_view text(first.data(), data > kTextBegin ? 1 : 0);
  DEQUANT_CHECK(file.read(kTextBegin, std::as_writable_bytes(std::span(first).first(text.size()))));
  if (text == "{") return {};
  return failure(ErrorCode::malformed, "byte {}: the header begins with \"{}\", not with \"{{\"",
                 kTextBegin, escaped(text));
}

/// The error of a file that is no safetensors file at all, such as a download that went wrong;
/// nothing where a header begins, whose length may be the magic number of another format, and for
/// files that end before.
std::optional<Error> other_format(const InputFile& file) {
  if (file.size() <= kTextBegin || check_first_byte(file, kTextBegin + 1)) return {};
  return error_of_look(file);
}

/// Demands tensors in the order of their data, each within [begin, end).
Status check_layout(std::span<const Tensor> tensors, int64_t begin, int64_t end) {
  int64_t next = begin;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (tensor.offset != next) {
      return failure(ErrorCode::malformed, "tensor \"{}\": data_offsets begin at {}, but {} at {}",
                     escaped(tensor.name), tensor.offset - begin,
                     i == 0 ? "the data of the file begin"
                            : fmt::format("those of \"{}\" end", escaped(tensors[i - 1].name)),
                     next - begin);
    }
    next = tensor.offset + tensor.bytes;
  }
  if (next == end) return {};
  return failure(ErrorCode::malformed,
                 "byte {}: here end the data of all tensors, but not the file", next);
}

}  // namespace

class HeaderReader {
 public:
  HeaderReader(const InputFile& file, int64_t data)
      : text_(file, kTextBegin, data), data_(data), end_(file.size()) {}

  Result<Header> read() && {
    DEQUANT_CHECK(text_.open('{'));
    bool has_metadata = false;
    for (int64_t count = 0;; ++count) {
      DEQUANT_TRY(const bool more, text_.another(count, '}'));
      if (!more) break;
      DEQUANT_TRY(const std::string_view key, text_.key());
      if (key != kMetadata) {
        DEQUANT_CHECK(read_tensor(stored(key)));
      } else if (std::exchange(has_metadata, true)) {
        return failure(ErrorCode::malformed, "{} occurs twice", kMetadata);
      } else if (Status metadata = read_metadata(); !metadata) {
        return in(kMetadata, std::move(metadata).error());
      }
    }
    DEQUANT_CHECK(text_.finish());
    DEQUANT_CHECK(arrange_tensors());
    return std::move(header_);
  }

 private:
  std::string_view stored(std::string_view text) {
    const std::span<const char> copy = header_.texts_.add(text);
    return {copy.data(), copy.size()};
  }

  Status read_tensor(std::string_view name) {
    if (Status read = read_entry(text_, end_ - data_, entry_); !read) {
      return in(fmt::format("tensor \"{}\"", escaped(name)), std::move(read).error());
    }
    header_.tensors_.push_back({name, entry_.dtype, header_.sizes_.add(entry_.shape),
                                data_ + entry_.begin, entry_.end - entry_.begin});
    return {};
  }

  Status read_metadata() {
    DEQUANT_TRY(const bool none, text_.null());
    if (none) return {};
    DEQUANT_CHECK(text_.open('{'));
    header_.has_metadata_ = true;
    auto& pairs = header_.metadata_;
    for (int64_t count = 0;; ++count) {
      DEQUANT_TRY(const bool more, text_.another(count, '}'));
      if (!more) break;
      DEQUANT_TRY(const std::string_view key, text_.key());
      pair_ = key;
      const size_t key_size = pair_.size();
      const auto value = text_.string();
      if (!value) return in(fmt::format("\"{}\"", escaped(pair_)), value.error());
      pair_ += *value;
      pairs.emplace_back(stored(pair_), key_size);
    }
    const auto key_of = [&](size_t i) { return pairs[i].key(); };
    const auto repeated = NameIndex(pairs.size(), key_of).repeated(key_of);
    if (!repeated) return {};
    return failure(ErrorCode::malformed, "key \"{}\" occurs twice", escaped(key_of(*repeated)));
  }

  Status arrange_tensors() {
    auto& tensors = header_.tensors_;
    std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
      return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
    });
    const auto name_of = [&](size_t i) { return tensors[i].name; };
    header_.names_ = NameIndex(tensors.size(), name_of);
    if (const auto repeated = header_.names_.repeated(name_of)) {
      return failure(ErrorCode::malformed, "tensor \"{}\" occurs twice",
                     escaped(name_of(*repeated)));
    }
    return check_layout(tensors, data_, end_);
  }

  HeaderText text_;
  const int64_t data_;  ///< offset of the data in the file
  const int64_t end_;   ///< of the data and the file
  Header header_;
  Entry entry_;
  std::string pair_;
};

Result<Header> Header::read(const InputFile& file) {
  const auto read = [&]() -> Result<Header> {
    DEQUANT_TRY(const int64_t data, find_data(file));
    DEQUANT_CHECK(check_first_byte(file, data));
    return HeaderReader(file, data).read();
  };
  auto header = read();
  if (!header && header.error().code == ErrorCode::io) return header;  // names the file
  if (!header) {
    if (auto other = other_format(file)) return *std::move(other);
    return in(escaped(file.name()), std::move(header).error());
  }
  DEQUANT_CHECK(file.check_unchanged());
  return header;
}

const Tensor* Header::find(std::string_view name) const {
  const auto found = names_.find(name, [&](size_t i) { return tensors_[i].name; });
  return found ? &tensors_[*found] : nullptr;
}

}  // namespace dequant::format::safetensors
