// The entry of one tensor in a header: its fields, and whether they agree.
#include "format/safetensors/entry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "format/io/errors.h"
#include "format/safetensors/header.h"

namespace dequant::format::safetensors {
namespace {

constexpr std::array<std::string_view, 3> kFields{"dtype", "shape", "data_offsets"};

Result<const DType*> read_dtype(HeaderText& text) {
  DEQUANT_TRY(const std::string_view name, text.string());
  if (const DType* dtype = find_dtype(name)) return dtype;
  std::vector<std::string_view> names;
  for (const DType& dtype : dtypes()) names.push_back(dtype.name);
  return failure(ErrorCode::unsupported, "\"{}\" is not one of {}", escaped(name),
                 fmt::join(names, ", "));
}

/// Fails with `code` where there are more than `most`.
Status read_numbers(HeaderText& text, size_t most, ErrorCode code, std::vector<int64_t>& numbers) {
  DEQUANT_CHECK(text.open('['));
  numbers.clear();
  for (int64_t count = 0;; ++count) {
    DEQUANT_TRY(const bool more, text.another(count, ']'));
    if (!more) return {};
    if (numbers.size() == most) return failure(code, "more than {} numbers", most);
    DEQUANT_TRY(const int64_t number, text.number());
    numbers.push_back(number);
  }
}

Status read_offsets(HeaderText& text, Entry& entry) {
  std::vector<int64_t> offsets;
  DEQUANT_CHECK(read_numbers(text, 2, ErrorCode::malformed, offsets));
  if (offsets.size() != 2) {
    return failure(ErrorCode::malformed, "[{}] is not a pair of a begin and an end",
                   fmt::join(offsets, ", "));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  return {};
}

Status read_field(HeaderText& text, std::string_view field, Entry& entry) {
  if (field == "shape") return read_numbers(text, kMaxRank, ErrorCode::limit, entry.shape);
  if (field == "data_offsets") return read_offsets(text, entry);
  DEQUANT_TRY(entry.dtype, read_dtype(text));
  return {};
}

Status check_fields(const Entry& entry, int64_t data_bytes) {
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return failure(ErrorCode::malformed,
                   "data_offsets: [{}, {}] is no range of the file's {} bytes of data", entry.begin,
                   entry.end, data_bytes);
  }
  const auto needed = bytes_of(*entry.dtype, entry.shape);
  if (!needed) return failure(ErrorCode::malformed, "{}", needed.error().message);
  if (*needed == entry.end - entry.begin) return {};
  return failure(ErrorCode::malformed,
                 "data_offsets: [{}, {}] are {} bytes where shape [{}] and type {} ask for {}",
                 entry.begin, entry.end, entry.end - entry.begin, fmt::join(entry.shape, ", "),
                 entry.dtype->name, *needed);
}

}  // namespace

Status read_entry(HeaderText& text, int64_t data_bytes, Entry& entry) {
  DEQUANT_CHECK(text.open('{'));
  std::array<bool, kFields.size()> seen{};
  for (int64_t count = 0;; ++count) {
    DEQUANT_TRY(const bool more, text.another(count, '}'));
    if (!more) break;
    DEQUANT_TRY(const std::string_view key, text.key());
    const auto field = std::find(kFields.begin(), kFields.end(), key);
    if (field == kFields.end()) {
      return failure(ErrorCode::malformed, "field \"{}\" is not one of {}", escaped(key),
                     fmt::join(kFields, ", "));
    }
    if (std::exchange(seen[static_cast<size_t>(field - kFields.begin())], true)) {
      return failure(ErrorCode::malformed, "field \"{}\" occurs twice", *field);
    }
    if (Status read = read_field(text, *field, entry); !read) {
      return in(*field, std::move(read).error());
    }
  }
  const auto missing = std::find(seen.begin(), seen.end(), false);
  if (missing == seen.end()) return check_fields(entry, data_bytes);
  return failure(ErrorCode::malformed, "there is no field \"{}\"",
                 kFields[static_cast<size_t>(missing - seen.begin())]);
}

}  // namespace dequant::format::safetensors
