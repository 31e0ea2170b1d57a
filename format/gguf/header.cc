// Reading the header of a GGUF file.
#include "format/gguf/header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace dequant::format::gguf {
namespace {

/// Bytes of a pair at least: a key of one byte, and a value of one.
constexpr uint64_t kLeastPair = 8 + 1 + 4 + 1;
/// Bytes of a tensor at least: no name and no dimensions.
constexpr uint64_t kLeastTensor = 8 + 4 + 4 + 8;

struct Counts {
  uint32_t version = 0;
  uint64_t tensors = 0;
  uint64_t pairs = 0;
};

Status check_magic(const InputFile& file) {
  std::array<char, 4> bytes{};
  const auto size = static_cast<size_t>(std::min<int64_t>(file.size(), 4));
  DEQUANT_CHECK(file.read(0, std::as_writable_bytes(std::span(bytes).first(size))));
  const std::string_view magic(bytes.data(), size);
  if (magic == "GGUF") return {};
  const char* what = magic == "FUGG"   ? ", as of a GGUF file with its bytes swapped"
                     : magic == "tjgg" ? ", as of a GGJT file, which llama.cpp wrote before GGUF"
                     : magic == "fmgg" ? ", as of a GGMF file, which llama.cpp wrote before GGUF"
                     : magic == "lmgg" ? ", as of a GGML file, which llama.cpp wrote before GGUF"
                                       : "";
  return failure(ErrorCode::malformed, "the file begins with \"{}\", not with \"GGUF\"{}",
                 escaped(magic), what);
}

/// Reads what comes before the pairs.
Result<Counts> read_counts(Scanner& scanner) {
  DEQUANT_CHECK(scanner.skip(4));
  Counts counts;
  DEQUANT_TRY(uint64_t version, scanner.number(4));
  if (version != 0 && (version & 0xFFFF) == 0) {
    scanner.set_big_endian(true);
    version = __builtin_bswap32(static_cast<uint32_t>(version));
  }
  if (version != 2 && version != 3) {
    return failure(ErrorCode::unsupported, "version {}: dequant reads versions 2 and 3", version);
  }
  counts.version = static_cast<uint32_t>(version);
  DEQUANT_TRY(counts.tensors, scanner.number(8));
  DEQUANT_TRY(counts.pairs, scanner.number(8));
  const auto left = static_cast<uint64_t>(scanner.left());
  if (counts.pairs <= left / kLeastPair && counts.tensors <= left / kLeastTensor) return counts;
  return failure(ErrorCode::malformed,
                 "{} tensors and {} pairs of metadata in a file with {} bytes after their number",
                 counts.tensors, counts.pairs, left);
}

Result<int64_t> alignment_of(const Metadata& metadata) {
  const Pair* pair = metadata.find(kAlignmentKey);
  if (pair == nullptr) return kDefaultAlignment;
  if (pair->type != ValueType::uint32) {
    return failure(ErrorCode::malformed, "key \"{}\": a value of type {}, not uint32",
                   kAlignmentKey, name(pair->type));
  }
  if (std::has_single_bit(pair->number)) return static_cast<int64_t>(pair->number);
  return failure(ErrorCode::malformed, "key \"{}\": {} is no power of two", kAlignmentKey,
                 pair->number);
}

/// The error of a file with type TL2 of bitnet.cpp, whose number is that of MXFP4 elsewhere: its
/// tensors have fewer bytes. Nothing where the architecture is not one of bitnet.cpp.
std::optional<Error> error_of_tl2(const InputFile& file, const Header& header) {
  constexpr int64_t kMostText = 200;
  const auto is_mxfp4 = [](const Tensor& t) { return t.type->block == BlockType::MXFP4; };
  const auto found = std::ranges::find_if(header.tensors(), is_mxfp4);
  const Pair* pair = header.metadata().find(kArchitectureKey);
  if (found == header.tensors().end() || pair == nullptr || pair->type != ValueType::text)
    return {};
  const auto architecture = text_of(file, *pair, kMostText);
  if (!architecture || !architecture->starts_with("bitnet")) return {};
  return failure(ErrorCode::unsupported,
                 "tensor \"{}\": type TL2 of bitnet.cpp, number {}, which dequant does not read",
                 escaped(found->name), found->type->id);
}

}  // namespace

class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : file_(file), scanner_(file) {}

  Result<Header> read() {
    DEQUANT_CHECK(check_magic(file_));
    DEQUANT_TRY(const Counts counts, read_counts(scanner_));
    DEQUANT_TRY(Metadata metadata, Metadata::read(scanner_, counts.pairs));
    DEQUANT_TRY(const int64_t alignment, alignment_of(metadata));
    Header header(std::move(metadata));
    header.version_ = counts.version;
    header.big_endian_ = scanner_.big_endian();
    header.alignment_ = alignment;
    header.tensors_.reserve(static_cast<size_t>(counts.tensors));
    for (uint64_t i = 0; i < counts.tensors; ++i) DEQUANT_CHECK(read_tensor(header));
    DEQUANT_CHECK(check_names(header));
    if (auto placed = place(header); !placed) {
      if (auto error = error_of_tl2(file_, header)) return *std::move(error);
      return std::move(placed).error();
    }
    DEQUANT_CHECK(file_.check_unchanged());
    return header;
  }

 private:
  Status read_tensor(Header& header) {
    DEQUANT_TRY(const std::string_view name, scanner_.text());
    const std::span<const char> copy = header.texts_.add(name);
    Tensor tensor;
    tensor.name = {copy.data(), copy.size()};
    if (auto rest = read_rest(header, tensor); !rest) {
      return in(fmt::format("tensor \"{}\"", escaped(tensor.name)), std::move(rest).error());
    }
    header.tensors_.push_back(tensor);
    return {};
  }

  Status read_rest(Header& header, Tensor& tensor) {
    DEQUANT_TRY(const uint64_t rank, scanner_.number(4));
    if (rank > kMaxRank)
      return failure(ErrorCode::malformed, "{} dimensions, more than {}", rank, kMaxRank);
    std::array<int64_t, kMaxRank> sizes{};
    for (auto d = static_cast<size_t>(rank); d-- > 0;) {
      DEQUANT_TRY(const uint64_t size, scanner_.number(8));
      if (size > uint64_t{INT64_MAX})
        return failure(ErrorCode::malformed, "a dimension of {}, more than 2^63 - 1", size);
      sizes[d] = static_cast<int64_t>(size);
    }
    tensor.shape = header.sizes_.add(std::span(sizes).first(static_cast<size_t>(rank)));
    DEQUANT_TRY(const uint64_t id, scanner_.number(4));
    DEQUANT_TRY(tensor.type, type_of(static_cast<uint32_t>(id)));
    DEQUANT_TRY(tensor.bytes, bytes_of(*tensor.type, tensor.shape));
    DEQUANT_TRY(const uint64_t offset, scanner_.number(8));
    if (offset > uint64_t{INT64_MAX}) {
      return failure(ErrorCode::malformed, "its data begin at offset {}, beyond the file", offset);
    }
    tensor.offset = static_cast<int64_t>(offset);
    return {};
  }

  static Status check_names(const Header& header) {
    const auto name_of = [&](size_t i) { return header.tensors_[i].name; };
    const safetensors::NameIndex names(header.tensors_.size(), name_of);
    const auto repeated = names.repeated(name_of);
    if (!repeated) return {};
    return failure(ErrorCode::malformed, "tensor \"{}\" occurs twice", escaped(name_of(*repeated)));
  }

  /// Turns offsets in the data into offsets in the file. All sizes stay below twice that of the
  /// file, and so within 64 bits, as an alignment is below 2^32.
  Status place(Header& header) {
    const int64_t mask = header.alignment_ - 1;
    const auto aligned = [&](int64_t at) { return (at + mask) & ~mask; };
    const int64_t data = aligned(scanner_.at());
    const int64_t size = file_.size() - data;  // below 0 where nothing follows the header
    int64_t next = 0;
    for (Tensor& t : header.tensors_) {
      if (t.offset != next) {
        return failure(ErrorCode::malformed,
                       "tensor \"{}\": its data begin at offset {}, not at {}, where those before "
                       "it end",
                       escaped(t.name), t.offset, next);
      }
      if (t.bytes > size - next) {
        return failure(
            ErrorCode::malformed, "tensor \"{}\": its data are the bytes {} to {} of a file of {}",
            escaped(t.name), data + next,
            static_cast<uint64_t>(data + next) + static_cast<uint64_t>(t.bytes), file_.size());
      }
      t.offset += data;
      next = aligned(next + t.bytes);
    }
    header.trailing_bytes_ = std::max<int64_t>(0, size - next);
    return {};
  }

  const InputFile& file_;
  Scanner scanner_;
};

Result<Header> Header::read(const InputFile& file) {
  auto header = HeaderReader(file).read();
  if (header || header.error().code == ErrorCode::io) return header;
  return in(escaped(file.name()), std::move(header).error());
}

}  // namespace dequant::format::gguf
