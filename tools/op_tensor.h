// The tensors of `dequant op`: .npy files. Their headers are read first, so that a node is planned
// before its data is read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant::tools {

/// An input: a file, or numbers from the command line.
struct OpTensor {
  std::string name;  ///< the dialect's name of the input: "x", "min_range"
  std::string_view buffer =
      {};            ///< the name of the input in Buffers, where that differs; a literal
  std::string file;  ///< empty for numbers
  std::string numbers;
  std::optional<Element> as;
  Element element = Element::float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  ///< packed; of a file after load()

  TensorType type() const { return {element, shape}; }
};

/// The element of a type option, or none if `type_name` is empty. Fails with invalid_argument on an
/// unknown name.
Result<std::optional<Element>> named_element(const char* option, const std::string& type_name);

/// Reads the header of a file. `type_option` is the option that gives its type, for messages. Fails
/// as read_npy() does; messages name `option` and the file.
Result<OpTensor> open_tensor(std::string name, const std::string& option, const std::string& file,
                             std::optional<Element> as, const char* type_option);

/// Reads the data of a tensor of open_tensor(). Appends warnings. Fails as read_npy() does.
Status load(OpTensor& tensor, std::vector<std::string>& warnings);

/// A float32 tensor from "0.5" (a scalar), from "0.5,-1" (one dimension), or from the header of a
/// file whose name ends in ".npy". Fails with invalid_argument on other text and on numbers beyond
/// float32.
Result<OpTensor> numbers_or_file(std::string name, const std::string& option,
                                 const std::string& text);

}  // namespace dequant::tools
