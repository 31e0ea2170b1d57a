// The files of a GGUF model, one or several, and their tensors by name.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/gguf/header.h"
#include "format/gguf/view.h"
#include "format/io/file.h"

namespace dequant::format::gguf {

/// The keys of models in several files.
inline constexpr std::string_view kSplitNumber = "split.no";
inline constexpr std::string_view kSplitCount = "split.count";
inline constexpr std::string_view kSplitTensors = "split.tensors.count";

/// The beginning of the keys by which ComfyUI-GGUF gives tensors their shape back: its converter
/// stores those whose last dimension is no multiple of 256 as rows of 256. The name of the tensor
/// follows, and the value is the shape as numpy has it.
inline constexpr std::string_view kOriginalShape = "comfy.gguf.orig_shape.";

/// One file of a model.
struct Part {
  std::string name;  ///< within the folder
  InputFile file;
  Header header;
};

/// A tensor, and the index of the part that has it.
struct Entry {
  const Tensor* tensor = nullptr;
  uint32_t part = 0;
  const View* view = nullptr;                      ///< null: the tensor as it is stored
  const std::vector<int64_t>* original = nullptr;  ///< its shape in the model; null: `shape`

  std::string_view name() const { return view == nullptr ? tensor->name : view->name; }
  const Type& type() const { return *tensor->type; }
  /// Of the stored tensor: rows are whole blocks.
  Shape shape() const { return view == nullptr ? tensor->shape : Shape(view->shape); }
  /// Of the float tensor.
  Shape float_shape() const { return original == nullptr ? shape() : Shape(*original); }
  int64_t bytes() const { return view == nullptr ? tensor->bytes : view->bytes; }
  int64_t offset() const { return tensor->offset + (view == nullptr ? 0 : view->offset); }
  /// True where the bytes of the tensor are those of the file from `offset` on.
  bool is_stored() const { return view == nullptr || view->is_stored(); }
};

/// The name of a part of a model; `number` counts from 0.
std::string part_name(std::string_view model, int64_t number, int64_t count);

/// All files of a model. Addresses of entries are valid as long as this object.
class Parts {
 public:
  /// Opens the others of a file's model where the file is one of several: these have the names
  /// NAME-00001-of-00003.gguf and so on, in the folder of the file. Fails with io, also where one
  /// of them is missing, with malformed where they are no parts of one model or the metadata have
  /// an impossible shape of a tensor, and as Header::read() does.
  static Result<std::unique_ptr<Parts>> open(InputFile file);

  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  const std::vector<Part>& files() const { return files_; }
  const Part& part_of(const Entry& entry) const { return files_[entry.part]; }
  /// Of the first part, which has that of the whole model.
  const Metadata& metadata() const { return files_[0].header.metadata(); }
  bool big_endian() const { return files_[0].header.big_endian(); }

  /// Shows other entries of the same tensors. Fails with malformed where two have one name.
  Status set_entries(std::vector<Entry> entries, std::deque<View> views);

  /// All tensors, in the order of the files and of the data within each file.
  std::span<const Entry> entries() const { return entries_; }
  /// The tensor of that name, or null.
  const Entry* find(std::string_view name) const;

  /// Fails with malformed where a file changed since it was opened.
  Status check_unchanged() const;
  /// Bytes of all files.
  int64_t bytes() const;

 private:
  Parts() = default;
  Status open_all(InputFile file);
  Status index_names();
  Status find_original_shapes();

  std::vector<Part> files_;
  std::deque<View> views_;
  std::deque<std::vector<int64_t>> original_shapes_;
  std::vector<Entry> entries_;
  safetensors::NameIndex names_;
};

}  // namespace dequant::format::gguf
