// Checkpoints of checkpoints.json. In a text such as "4rc" r and c are numbers of the fuzz input:
// the text stands for 4 times r times c. Among tensors it is a size, elsewhere it has a # in front.
#include "fuzz/support/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "format/safetensors/dtype.h"
#include "fuzz/support/check.h"

namespace dequant::fuzz {
namespace {

using nlohmann::ordered_json;

/// Keys of a kind that are not those of config.json.
constexpr std::array<std::string_view, 5> kNotInConfig{"data", "tensors", "metadata", "file",
                                                       "said"};

struct Sizes {
  int64_t r = 1;
  int64_t c = 1;

  int64_t product(std::string_view text) const {
    int64_t number = 0;
    for (const char letter : text) {
      if (letter >= '0' && letter <= '9') number = number * 10 + (letter - '0');
      if (letter == 'r') number = std::max<int64_t>(number, 1) * r;
      if (letter == 'c') number = std::max<int64_t>(number, 1) * c;
    }
    return number;
  }
  int64_t of(const ordered_json& size) const {
    return size.is_string() ? product(size.get_ref<const std::string&>()) : size.get<int64_t>();
  }
};

const std::vector<ordered_json>& kinds() {
  static const std::vector<ordered_json> all = [] {
    std::ifstream file(DEQUANT_FUZZ_CHECKPOINTS);
    require(file.good(), "no " DEQUANT_FUZZ_CHECKPOINTS);
    std::vector<ordered_json> list;
    const auto document = ordered_json::parse(file);
    for (const auto& [name, kind] : document.items()) list.push_back(kind);
    return list;
  }();
  return all;
}

/// Replaces texts such as "#8r" by their numbers.
void resolve(ordered_json& value, const Sizes& sizes) {
  if (value.is_string() && value.get_ref<const std::string&>().starts_with('#')) {
    value = sizes.of(value);
  } else if (value.is_structured()) {
    for (auto& member : value) resolve(member, sizes);
  }
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The elements of a tensor of integers, of which `number(i)` is the one with index i.
template <class Number>
std::vector<std::byte> integers(const CheckpointTensor& tensor, Number number) {
  const auto width = static_cast<size_t>(format::safetensors::find_dtype(tensor.dtype)->bits) / 8;
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  std::vector<std::byte> bytes(static_cast<size_t>(count) * width);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = number(i);
    std::memcpy(bytes.data() + static_cast<size_t>(i) * width, &value, width);
  }
  return bytes;
}

/// The data that checkpoints.json describes.
void set_data(CheckpointTensor& tensor, const ordered_json& how) {
  if (how.contains("text") || how.contains("string")) {
    tensor.data =
        bytes_of(how.contains("text") ? how["text"].dump() : how["string"].get<std::string>());
    tensor.shape = {static_cast<int64_t>(tensor.data.size())};
  } else if (how.contains("groups")) {
    const auto length = how["groups"].get<int64_t>();
    tensor.data = integers(tensor, [&](int64_t i) { return i / length; });
  } else if (how.contains("cycle")) {
    const auto groups = how["cycle"].get<int64_t>();
    tensor.data = integers(tensor, [&](int64_t i) { return i % groups; });
  } else {
    const ordered_json& numbers = how["numbers"];
    tensor.data =
        integers(tensor, [&](int64_t i) { return numbers[static_cast<size_t>(i)].get<int64_t>(); });
  }
}

}  // namespace

Checkpoint checkpoint(Cursor& cursor) {
  const ordered_json& kind = kinds()[cursor.below(kinds().size())];
  const Sizes sizes{1 + cursor.below(4), 1 + cursor.below(4)};
  Checkpoint out;
  ordered_json data = kind.value("data", ordered_json::object());
  resolve(data, sizes);
  for (const auto& [name, said] : kind.at("tensors").items()) {
    CheckpointTensor tensor{name, said[0].get<std::string>(), {}};
    for (size_t i = 1; i < said.size(); ++i) tensor.shape.push_back(sizes.of(said[i]));
    if (data.contains(name)) set_data(tensor, data[name]);
    out.tensors.push_back(std::move(tensor));
  }
  const ordered_json metadata = kind.value("metadata", ordered_json::object());
  for (const auto& [name, said] : metadata.items()) {
    out.metadata[name] = said;
    resolve(out.metadata[name], sizes);
  }
  out.file = kind.value("file", "");
  out.said = kind.value("said", ordered_json());
  for (const auto& [key, said] : kind.items()) {
    if (std::ranges::find(kNotInConfig, key) == std::end(kNotInConfig)) out.config[key] = said;
  }
  if (!cursor.rarely()) out.config.emplace("torch_dtype", "bfloat16");
  return out;
}

}  // namespace dequant::fuzz
