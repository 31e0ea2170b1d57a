// What a GGUF model is, in words and as JSON: the architecture, the metadata.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "format/gguf/parts.h"
#include "format/model/model_file.h"

namespace dequant::format::gguf {

/// "llama"; empty where the model does not say it.
std::string architecture(const Parts& parts);

/// The type of most tensors as llama.cpp calls it: "Q4_K_M"; empty where the model does not say it,
/// and where the number is not known.
std::string file_type(const Parts& parts);

/// The elements of all tensors.
int64_t parameters(const Parts& parts);

/// The first keys of the JSON object of `inspect`. Long arrays and texts are shortened.
nlohmann::ordered_json facts(const Parts& parts);

/// All pairs as texts, in the order of the file: arrays as JSON. Bytes that are no UTF-8 become
/// escapes. Fails with io.
Result<std::vector<std::pair<std::string, std::string>>> texts(const Parts& parts);

/// Lines for people: what the model is, then the metadata.
std::vector<Headline> details(const Parts& parts);

}  // namespace dequant::format::gguf
