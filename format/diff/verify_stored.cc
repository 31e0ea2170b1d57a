// Verifying tensors that both models only store.
#include "format/diff/verify_stored.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "format/io/errors.h"
#include "format/io/file.h"

namespace dequant::format {
namespace {

/// Counts elements of which a bit differs. The elements follow one another without gaps, the first
/// in the lowest bits of the first byte.
class DifferentElements {
 public:
  explicit DifferentElements(int64_t bits) : bits_(bits) {}

  /// Takes the next bytes of both tensors.
  void add(std::span<const std::byte> a, std::span<const std::byte> b) {
    if (std::memcmp(a.data(), b.data(), a.size()) != 0) {
      for (size_t i = 0; i < a.size(); ++i) {
        for (unsigned x = std::to_integer<unsigned>(a[i] ^ b[i]); x != 0; x &= x - 1)
          add_bit(8 * (done_ + static_cast<int64_t>(i)) + std::countr_zero(x));
      }
    }
    done_ += static_cast<int64_t>(a.size());
  }

  int64_t different() const { return different_; }
  int64_t first() const { return first_; }  ///< its index; 0 where none differs

 private:
  void add_bit(int64_t bit) {
    const int64_t element = bit / bits_;
    if (element == last_) return;
    if (different_++ == 0) first_ = element;
    last_ = element;
  }

  const int64_t bits_;  ///< of an element
  int64_t done_ = 0;    ///< bytes
  int64_t last_ = -1;
  int64_t different_ = 0;
  int64_t first_ = 0;
};

int64_t elements_of(const KeptTensor& tensor) {
  const auto count = element_count(tensor.shape);
  return count ? *count : 0;
}

class StoredVerifier {
 public:
  StoredVerifier(const Side& a, const Side& b, const std::function<Status(int64_t)>& step,
                 Verification& out)
      : a_(a), b_(b), step_(step), out_(out) {}

  Status run() {
    for (const KeptTensor& a : a_.kept.all()) {
      if (a.is_read) {
        if (const KeptTensor* b = b_.kept.find_stored_only(a.name))
          wrong(a, other_type(b->type, a.type));
      } else if (const KeptTensor* b = b_.kept.find(a.name)) {
        DEQUANT_CHECK(verify(a, *b));
      } else if (const DenseTensor* dense = b_.named.find(a.name)) {
        wrong(a, other_type(dequant::name(dense->type().element), a.type));
      } else if (const std::string reason = b_.named.reason(a.name); !reason.empty()) {
        wrong(a, reason);
      } else {
        out_.missing.push_back(a.name);
      }
    }
    for (const KeptTensor& b : b_.kept.all()) {
      if (b.is_read || a_.kept.find(b.name) != nullptr) continue;
      if (a_.named.find(b.name) != nullptr) {
        wrong(b, fmt::format("its type is {}, and should be float32, float16 or bfloat16", b.type));
      } else if (const std::string reason = a_.named.reason(b.name); !reason.empty()) {
        wrong(b, reason);
      } else {
        out_.unexpected.push_back(b.name);
      }
    }
    return {};
  }

 private:
  static std::string other_type(std::string_view is, std::string_view should_be) {
    return fmt::format("its type is {}, and should be {}, as it is not quantized", is, should_be);
  }

  void wrong(const KeptTensor& tensor, std::string reason) {
    const int64_t elements = elements_of(tensor);
    ++out_.verified;
    out_.elements += elements;
    out_.wrong.push_back({.name = tensor.name, .elements = elements, .reason = std::move(reason)});
  }

  Status verify(const KeptTensor& a, const KeptTensor& b) {
    if (a.type != b.type) {
      wrong(a, other_type(b.type, a.type));
    } else if (a.shape != b.shape) {
      wrong(a, fmt::format("its shape is [{}], and should be [{}]", fmt::join(b.shape, ", "),
                           fmt::join(a.shape, ", ")));
    } else {
      DEQUANT_TRY(const DifferentElements found, compare(a, b));
      const int64_t elements = elements_of(a);
      ++out_.verified;
      ++out_.stored;
      out_.elements += elements;
      if (found.different() != 0) {
        out_.wrong.push_back({.name = a.name,
                              .elements = elements,
                              .different = found.different(),
                              .type = a.type,
                              .first = found.first()});
      }
    }
    return step_(elements_of(a));
  }

  Result<DifferentElements> compare(const KeptTensor& a, const KeptTensor& b) {
    DifferentElements found(a.bits);
    std::vector<std::byte> other;
    int64_t offset = b.offset;
    DEQUANT_CHECK(
        read_in_parts(*a.file, a.offset, a.bytes, [&](std::span<const std::byte> part) -> Status {
          other.resize(part.size());
          DEQUANT_CHECK(b.file->read(offset, other));
          offset += static_cast<int64_t>(part.size());
          found.add(part, other);
          return step_(0);
        }));
    DEQUANT_CHECK(a.file->check_unchanged());
    DEQUANT_CHECK(b.file->check_unchanged());
    return found;
  }

  const Side& a_;
  const Side& b_;
  const std::function<Status(int64_t)>& step_;
  Verification& out_;
};

}  // namespace

Result<KeptTensors> KeptTensors::of(const ModelFile& file, const NamedTensors& named) {
  KeptTensors out;
  DEQUANT_CHECK(file.visit_rest([&](const RestTensor& t) -> Status {
    if (!t.dropped.empty()) return {};
    out.by_name_.emplace(t.name, out.tensors_.size());
    out.tensors_.push_back({std::string(t.name),
                            std::string(t.type),
                            {t.shape.begin(), t.shape.end()},
                            t.bytes,
                            t.location.offset,
                            t.bits,
                            t.input,
                            named.find(t.name) != nullptr});
    return {};
  }));
  return out;
}

int64_t KeptTensors::elements() const {
  int64_t sum = 0;
  for (const KeptTensor& tensor : tensors_) sum += tensor.is_read ? 0 : elements_of(tensor);
  return sum;
}

const KeptTensor* KeptTensors::find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? nullptr : &tensors_[at->second];
}

const KeptTensor* KeptTensors::find_stored_only(std::string_view name) const {
  const KeptTensor* tensor = find(name);
  return tensor != nullptr && !tensor->is_read ? tensor : nullptr;
}

bool is_stored_only(const Side& a, const Side& b, std::string_view name) {
  return a.kept.find_stored_only(name) != nullptr || b.kept.find_stored_only(name) != nullptr;
}

Status verify_stored(const Side& a, const Side& b, const std::function<Status(int64_t)>& step,
                     Verification& out) {
  return StoredVerifier(a, b, step, out).run();
}

}  // namespace dequant::format
