// The words of a format for the contents of its files, in tables, pages, messages and JSON.
#pragma once

namespace dequant::format {

/// The defaults suit files that are lists of tensors; formats with graphs set words of their own.
/// All texts are string literals.
struct Words {
  bool has_graph = false;  ///< tensors have nodes, and reports have the changes of the graph

  /// `inspect` reads no tensor data unless it is asked for, folds names that differ in numbers
  /// only, and lists the tensors that no recipe needs: files have very many tensors.
  bool folds = false;

  // Tables and pages of `inspect`, and the sentence that ends them.
  const char* all = "quantized tensors";          ///< "12 quantized tensors, ..."
  const char* dense = "that become floats";       ///< "... 10 that become floats"
  const char* dense_title = "Quantized tensors";  ///< those that become floats
  const char* left_title = "Tensors that stay quantized";
  const char* others_title = "Stored tensors of quantized types that nothing dequantizes";
  const char* name_title = "tensor";        ///< TensorFacts::name, lower case
  const char* source_title = "codes";       ///< TensorFacts::source, lower case
  const char* left_because = "because";     ///< why a tensor stays, lower case
  const char* scheme_title = "the scheme";  ///< TensorFacts::scheme with its version
  const char* implied_scheme = "";          ///< the scheme that an empty TensorFacts::scheme means

  // Keys of JSON objects.
  const char* tensors_key = "tensors";
  const char* others_key = "other_tensors";
  const char* name_key = "name";
  const char* source_key = "codes";
  const char* scheme_key = "scheme";
  const char* dense_key = "dense";  ///< true for a tensor that becomes floats

  // `convert`: "12 tensors dequantized (...), 3 left".
  const char* converted_key = "converted";
  const char* converted_title = "dequantized";
  const char* converted = "tensors dequantized";

  // Messages of `extract` and of searches by name; each follows the name or the path of the file.
  const char* none_of_name = "has no tensor of that name";
  const char* several_of_name = "several tensors have that name:";
  const char* stays_quantized = "it stays quantized";  ///< the reason follows
  const char* not_dequantized = "a tensor that is stored as it is";
  const char* nothing_to_extract = "no quantized tensor, so there is nothing to extract";
};

}  // namespace dequant::format
