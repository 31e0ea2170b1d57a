// A stored tensor whose packed bytes are a range of a file.
#pragma once

#include "format/io/file.h"
#include "format/model/stored_reader.h"

namespace dequant::format {

/// Reads `count` elements from `offset` of a file. The file must be so long, and outlive this
/// object; `label` names the tensor in messages.
class RegionReader : public StoredReader {
 public:
  RegionReader(const InputFile& file, int64_t offset, Element element, int64_t count,
               std::string label)
      : StoredReader(element, count), file_(file), offset_(offset), label_(std::move(label)) {}

  bool seekable() const override { return true; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    return file_.read(offset_ + bytes_of(element_, elements).begin, out);
  }
  Status finish() override { return file_.check_unchanged(); }

 protected:
  const InputFile& file_;
  const int64_t offset_;

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return label_; }

  const std::string label_;
};

}  // namespace dequant::format
