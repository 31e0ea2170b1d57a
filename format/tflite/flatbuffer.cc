// A flatbuffer in a file, verified before its first access.
#include "format/tflite/flatbuffer.h"

#include <algorithm>

#include "format/io/errors.h"

namespace dequant::format::tflite {
namespace {

/// What FlatBuffers calls a field's number times two, behind the two sizes in a vtable.
flatbuffers::voffset_t voffset(uint16_t field) {
  return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
}

}  // namespace

Flatbuffer::Flatbuffer(const InputFile& file, std::unique_ptr<uint8_t, Free> bytes, size_t size,
                       size_t memory)
    : file_(file),
      bytes_(std::move(bytes)),
      size_(size),
      memory_(memory),
      verifier_(bytes_.get(), size_, 64, kMostTables),
      pages_(size_ / kPage + 1) {}

Result<std::unique_ptr<Flatbuffer>> Flatbuffer::open(const InputFile& file, int64_t memory) {
  const size_t size = std::min(static_cast<size_t>(file.size()), kMostBytes);
  // Pages that nobody touches take no memory.
  std::unique_ptr<uint8_t, Free> bytes(static_cast<uint8_t*>(std::calloc(size + 1, 1)));
  if (!bytes) {
    return failure(ErrorCode::out_of_memory, "{}: no address space for its {} bytes",
                   escaped(file.name()), size);
  }
  return std::unique_ptr<Flatbuffer>(
      new Flatbuffer(file, std::move(bytes), size, static_cast<size_t>(memory)));
}

Error Flatbuffer::malformed(size_t place, const char* what) {
  return failure(ErrorCode::malformed, "byte {}: {}", place, what);
}

Status Flatbuffer::load(size_t place, size_t size) {
  if (size == 0 || !has(place, size)) return {};  // the verifier refuses the range
  end_ = std::max(end_, place + size);
  const size_t last = (place + size - 1) / kPage;
  for (size_t page = place / kPage; page <= last; ++page) {
    if (pages_[page]) continue;
    size_t next = page;  // neighbours are read in one call
    for (; next <= last && !pages_[next]; ++next) pages_[next] = true;
    const size_t begin = page * kPage;
    const size_t bytes = std::min(next * kPage, size_) - begin;
    read_ += bytes;
    DEQUANT_CHECK(take(bytes));
    DEQUANT_CHECK(file_.read(static_cast<int64_t>(begin),
                             std::as_writable_bytes(std::span(bytes_.get() + begin, bytes))));
  }
  return {};
}

Status Flatbuffer::take(size_t bytes) {
  constexpr size_t kLeast = size_t{32} << 20;
  constexpr size_t kTimes = 8;
  taken_ += bytes;
  const size_t most = std::max(memory_, kLeast + kTimes * read_);
  if (taken_ <= most) return {};
  return failure(ErrorCode::limit,
                 "the structure of the model needs more than {} bytes of memory; mem allows more",
                 most);
}

Result<Table> Flatbuffer::root(std::string_view identifier) {
  constexpr size_t kOffset = sizeof(flatbuffers::uoffset_t);
  DEQUANT_CHECK(load(0, std::min(size_, 2 * kOffset)));
  const auto* identified = reinterpret_cast<const char*>(bytes_.get()) + kOffset;
  if (size_ < 2 * kOffset || std::string_view(identified, identifier.size()) != identifier)
    return malformed(kOffset, "the identifier of a model is not there");
  const size_t offset = verifier_.VerifyOffset(size_t{0});
  if (offset == 0) return malformed(0, "the offset of the root table leads out of the file");
  return table_at(offset);
}

Result<Table> Flatbuffer::table_at(size_t place) {
  if (++tables_ > kMostTables) {
    return failure(ErrorCode::limit, "the model has more than {} tables, the verifier's limit",
                   kMostTables);
  }
  DEQUANT_CHECK(load(place, sizeof(flatbuffers::soffset_t)));
  if (has(place, sizeof(flatbuffers::soffset_t))) {
    // Unsigned, as the verifier computes it: a vtable may lie before or behind the table.
    const size_t vtable = place - static_cast<size_t>(loaded<flatbuffers::soffset_t>(place));
    DEQUANT_CHECK(load(vtable, sizeof(flatbuffers::voffset_t)));
    if (has(vtable, sizeof(flatbuffers::voffset_t)))
      DEQUANT_CHECK(load(vtable, loaded<flatbuffers::voffset_t>(vtable)));
  }
  const bool good = verifier_.VerifyTableStart(bytes_.get() + place);
  verifier_.EndTable();  // the depth is that of the schema, whatever the file has
  if (!good) return malformed(place, "a table, or its vtable, leads out of the file");
  return Table(*this, place);
}

const flatbuffers::Table& Table::verified() const {
  return *reinterpret_cast<const flatbuffers::Table*>(file_->bytes_.get() + place_);
}

size_t Table::place_of(uint16_t field) const {
  const size_t offset = verified().GetOptionalFieldOffset(voffset(field));
  return offset == 0 ? 0 : place_ + offset;
}

template <class T>
Result<T> Table::number(uint16_t field, T otherwise) const {
  const size_t place = place_of(field);
  DEQUANT_CHECK(file_->load(place, sizeof(T)));
  if (!verified().VerifyField<T>(file_->verifier_, voffset(field), sizeof(T)))
    return Flatbuffer::malformed(place, "a field is not aligned, or not within the file");
  return place == 0 ? otherwise : file_->loaded<T>(place);
}

template Result<int8_t> Table::number(uint16_t, int8_t) const;
template Result<uint8_t> Table::number(uint16_t, uint8_t) const;
template Result<int32_t> Table::number(uint16_t, int32_t) const;
template Result<uint32_t> Table::number(uint16_t, uint32_t) const;
template Result<uint64_t> Table::number(uint16_t, uint64_t) const;

Result<size_t> Table::target(uint16_t field) const {
  const size_t place = place_of(field);
  if (place == 0) return size_t{0};
  DEQUANT_CHECK(file_->load(place, sizeof(flatbuffers::uoffset_t)));
  if (!verified().VerifyOffset(file_->verifier_, voffset(field)))
    return Flatbuffer::malformed(place, "an offset leads out of the file");
  return place + file_->loaded<flatbuffers::uoffset_t>(place);
}

Result<std::pair<size_t, size_t>> Table::vector(uint16_t field, size_t bytes_of_element,
                                                bool load) const {
  constexpr size_t kLength = sizeof(flatbuffers::uoffset_t);
  DEQUANT_TRY(const size_t place, target(field));
  if (place == 0) return std::pair(size_t{0}, size_t{0});
  DEQUANT_CHECK(file_->load(place, kLength));
  if (!file_->verifier_.VerifyVectorOrString(file_->bytes_.get() + place, bytes_of_element)) {
    const bool cut = static_cast<int64_t>(file_->size_) < file_->file_.size();
    return Flatbuffer::malformed(
        place,
        cut ? "a vector or a text ends beyond the first 2^31 - 2 bytes, which FlatBuffers have"
            : "a vector or a text is longer than the file");
  }
  const size_t size = file_->loaded<flatbuffers::uoffset_t>(place);
  const size_t bytes = kLength + size * bytes_of_element;
  file_->end_ = std::max(file_->end_, place + bytes);
  // Many tables may have one long vector, whose pages are looked at once.
  const bool is_known = bytes > 16 * Flatbuffer::kPage && !file_->long_.insert(place).second;
  if (load && !is_known) DEQUANT_CHECK(file_->load(place, bytes));
  return std::pair(place, size);
}

Result<std::string_view> Table::text(uint16_t field) const {
  DEQUANT_TRY(const auto found, vector(field, 1, true));
  const auto [place, size] = found;
  if (place == 0) return std::string_view();
  const size_t begin = place + sizeof(flatbuffers::uoffset_t);
  DEQUANT_CHECK(file_->load(begin + size, 1));
  const uint8_t* bytes = file_->bytes_.get();
  if (!file_->verifier_.VerifyString(reinterpret_cast<const flatbuffers::String*>(bytes + place)))
    return Flatbuffer::malformed(place, "a text does not end with a zero byte");
  return std::string_view(reinterpret_cast<const char*>(bytes) + begin, size);
}

template <class T>
Result<Numbers<T>> Table::numbers(uint16_t field) const {
  DEQUANT_TRY(const auto found, vector(field, sizeof(T), true));
  const auto [place, size] = found;
  if (place == 0) return Numbers<T>();
  const size_t begin = place + sizeof(flatbuffers::uoffset_t);
  return Numbers<T>(file_->bytes_.get() + begin, size, static_cast<int64_t>(begin));
}

template Result<Numbers<int32_t>> Table::numbers(uint16_t) const;
template Result<Numbers<int64_t>> Table::numbers(uint16_t) const;
template Result<Numbers<float>> Table::numbers(uint16_t) const;

Result<Bytes> Table::bytes(uint16_t field) const {
  DEQUANT_TRY(const auto found, vector(field, 1, false));
  const auto [place, size] = found;
  return Bytes{static_cast<int64_t>(place + sizeof(flatbuffers::uoffset_t)),
               static_cast<int64_t>(size)};
}

Result<std::optional<Table>> Table::table(uint16_t field) const {
  DEQUANT_TRY(const size_t place, target(field));
  if (place == 0) return std::optional<Table>();
  DEQUANT_TRY(const Table found, file_->table_at(place));
  return std::optional(found);
}

Result<Tables> Table::tables(uint16_t field) const {
  DEQUANT_TRY(const auto found, vector(field, sizeof(flatbuffers::uoffset_t), true));
  Tables all;
  all.file_ = file_;
  all.place_ = found.first + sizeof(flatbuffers::uoffset_t);
  all.size_ = found.second;
  return all;
}

Result<Table> Tables::at(size_t i) const {
  const size_t place = place_ + i * sizeof(flatbuffers::uoffset_t);
  const size_t offset = file_->verifier_.VerifyOffset(place);
  if (offset == 0)
    return Flatbuffer::malformed(place, "the offset of a table leads out of the file");
  return file_->table_at(place + offset);
}

}  // namespace dequant::format::tflite
