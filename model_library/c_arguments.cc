// Checks of what a C program passes.
#include "model_library/c_arguments.h"

namespace dequant::model_library {

using c_api::number_of;

Result<std::string> text_of(std::string_view what, const char* text) {
  if (text == nullptr) return invalid(what, ": null");
  return std::string(text);
}

Result<std::vector<std::string>> texts_of(std::string_view what, const char* const* texts,
                                          size_t count) {
  if (texts == nullptr && count > 0) return invalid(what, ": null, with ", count, " texts");
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i) {
    DEQUANT_TRY(auto text, text_of(concat(what, "[", i, "]"), texts[i]));
    out.push_back(std::move(text));
  }
  return out;
}

Result<std::vector<ModelOption>> options_of(const dequant_model_option* options, size_t count) {
  if (options == nullptr && count > 0) return invalid("options: null, with ", count, " options");
  std::vector<ModelOption> out;
  for (size_t i = 0; i < count; ++i) {
    DEQUANT_TRY(auto name, text_of(concat("options[", i, "].name"), options[i].name));
    out.push_back({std::move(name), options[i].value == nullptr ? "" : options[i].value});
  }
  return out;
}

Result<std::optional<Element>> output_of(std::string_view what, const dequant_element& field) {
  const int32_t number = number_of(field);
  if (number == DEQUANT_NO_ELEMENT) return std::optional<Element>();
  const auto element = element_from_onnx(number);
  if (element) return element;
  return invalid(what, ": ", number, " is no dequant_element");
}

Result<int64_t> memory_of(int64_t memory) {
  if (memory < 0) return invalid("memory: ", memory, " is negative");
  return memory == 0 ? ReadModelOptions().memory : memory;
}

Status check_threads(int threads) {
  if (threads < 0) return invalid("threads: ", threads, " is negative");
  return {};
}

}  // namespace dequant::model_library
