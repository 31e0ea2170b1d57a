// The tensors of a GGUF file. Just enough of a reader for files that are known to be good.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace dequant::testing {

struct GgufTensor {
  std::string name;
  uint32_t type = 0;
  std::vector<int64_t> shape;  ///< as numpy has it
  uint64_t offset = 0;         ///< in GgufFile::data
};

class GgufFile {
 public:
  explicit GgufFile(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    at_ = 8;  // magic and version
    const auto tensors = number<uint64_t>();
    const auto keys = number<uint64_t>();
    for (uint64_t i = 0; i < keys; ++i) {
      text();
      skip(number<uint32_t>());
    }
    for (uint64_t i = 0; i < tensors; ++i) {
      GgufTensor& t = tensors_.emplace_back();
      t.name = text();
      t.shape.resize(number<uint32_t>());
      for (size_t d = t.shape.size(); d-- > 0;) t.shape[d] = number<int64_t>();
      t.type = number<uint32_t>();
      t.offset = number<uint64_t>();
    }
    at_ = (at_ + 31) / 32 * 32;
  }

  const std::vector<GgufTensor>& tensors() const { return tensors_; }

  const std::byte* data(const GgufTensor& t) const {
    return reinterpret_cast<const std::byte*>(bytes_.data()) + at_ + t.offset;
  }

 private:
  template <class T>
  T number() {
    T value{};
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text() {
    const auto length = number<uint64_t>();
    at_ += length;
    return bytes_.substr(at_ - length, length);
  }
  void skip(uint32_t type) {
    constexpr uint32_t kText = 8;
    constexpr uint32_t kArray = 9;
    constexpr uint8_t kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (type == kText) {
      text();
    } else if (type == kArray) {
      const auto of = number<uint32_t>();
      for (auto count = number<uint64_t>(); count > 0; --count) skip(of);
    } else {
      at_ += kSizes[type];
    }
  }

  std::string bytes_;
  size_t at_ = 0;
  std::vector<GgufTensor> tensors_;
};

}  // namespace dequant::testing
