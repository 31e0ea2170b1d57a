// XXH3-128, the checksum of audits: it finds accidents, and is no protection from an adversary.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/plan.h"
#include "dequant/status.h"
#include "format/io/file.h"

namespace dequant::format {

/// The hash of bytes that are added from front to back.
class Hash {
 public:
  Hash();
  Hash(Hash&&) noexcept;
  ~Hash();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  /// Of all bytes so far: 32 lower-case hexadecimal digits, as `xxhsum -H2` prints.
  std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Adds all bytes of a file that are outside of the ranges `data`. The ranges may have any order,
/// and may overlap. Fails as InputFile::read() does.
Status add_structure(Hash& hash, const InputFile& file, std::vector<Range> data);

/// The hash of a range of a file. Fails as InputFile::read() does.
Result<std::string> hash_of(const InputFile& file, int64_t offset, int64_t size);

}  // namespace dequant::format
