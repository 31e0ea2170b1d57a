// The tensors of `dequant op`: .npy files whose headers are read first, so that a node is planned
// before its data are touched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dequant/status.h"
#include "dequant/tensor.h"

namespace dequant::tools {

/// An input: a file, or numbers from the command line.
struct OpTensor {
  std::string name;  ///< as the dialect calls it: "x", "min_range"
  std::string file;  ///< empty for numbers
  std::string numbers;
  std::optional<Element> as;
  Element element = Element::float32;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  ///< packed; those of a file once load() has read them

  TensorType type() const { return {element, shape}; }
};

/// The element that a type option names, or none if it was not given. Fails with invalid_argument
/// on any other name.
Result<std::optional<Element>> named_element(const char* option, const std::string& type_name);

/// Reads the header of a file; `type_option` is what can say its type. Fails as read_npy does;
/// messages name `option` and the file.
Result<OpTensor> open_tensor(std::string name, const std::string& option, const std::string& file,
                             std::optional<Element> as, const char* type_option);

/// Reads the data of a tensor that open_tensor() made. Warnings are added.
Status load(OpTensor& tensor, std::vector<std::string>& warnings);

/// A float32 tensor from "0.5" (a scalar), from "0.5,-1" (one dimension), or from the header of
/// what ends in ".npy". Fails with invalid_argument on other text and on what float32 cannot hold.
Result<OpTensor> numbers_or_file(std::string name, const std::string& option,
                                 const std::string& text);

}  // namespace dequant::tools
