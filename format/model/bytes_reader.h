// A stored tensor whose packed bytes are in memory.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "format/model/stored_reader.h"

namespace dequant::format {

using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;

/// Reads `count` elements. The bytes must be so many; `label` names the tensor in messages.
class BytesReader : public StoredReader {
 public:
  BytesReader(SharedBytes bytes, Element element, int64_t count, std::string label)
      : StoredReader(element, count), bytes_(std::move(bytes)), label_(std::move(label)) {}

  bool seekable() const override { return true; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    const Range bytes = bytes_of(element_, elements);
    std::copy_n(bytes_->begin() + bytes.begin, bytes.end - bytes.begin, out.begin());
    return {};
  }
  Status finish() override { return {}; }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return label_; }

  const SharedBytes bytes_;
  const std::string label_;
};

}  // namespace dequant::format
