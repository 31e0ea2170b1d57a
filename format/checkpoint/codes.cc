// Tensors that hold codes.
#include "format/checkpoint/codes.h"

#include <array>

#include "format/checkpoint/modules.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {

using Names = std::span<const std::string_view>;

/// Types of tensors that hold codes, alone or packed.
constexpr std::array<std::string_view, 10> kCodes{
    "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0",
    "F6_E2M3", "F6_E3M2", "F4",          "U8",          "I8",
};

/// Integers that hold codes in tensors of these names.
constexpr std::array<std::string_view, 6> kIntegers{"I16", "U16", "I32", "U32", "I64", "U64"};
constexpr std::array<std::string_view, 4> kPacked{".qweight", ".qzeros", ".weight_packed",
                                                  ".weight"};

/// Words of a scheme that dequant does not have: the end of their name, and the end of the name of
/// a tensor beside these, without which the name says too little.
struct Foreign {
  std::string_view scheme;
  std::string_view codes;
  std::string_view beside;  ///< empty: none is needed
};
constexpr std::array kForeign{
    Foreign{"SVDQuant (Nunchaku)", ".qweight", ".wscales"},
    Foreign{"AQLM", ".codes", ".codebooks"},
    Foreign{"QuIP#", ".Qidxs", ""},
    Foreign{"QTIP", ".trellis", ".SU"},
    Foreign{"EXL3", ".trellis", ".svh"},
    Foreign{"EXL2", ".q_weight", ".q_scale"},
    Foreign{"SpQR", ".dense_weights", ".row_offsets"},
    Foreign{"VPTQ", ".indices", ".centroids.weight"},
    Foreign{"Marlin", ".B", ".s"},
};

/// Ends of the names of scales of "X.weight", "X.qweight" or "X.weight_packed", in place of these.
constexpr std::array<std::string_view, 3> kWeights{".weight", ".qweight", ".weight_packed"};
constexpr std::array<std::string_view, 10> kScalesOfModule{
    ".weight_scale", ".weight_scale_inv", ".weight_scales", ".scale",  ".scales",
    ".scale_weight", ".qscale_weight",    ".wscales",       ".absmax", ".SCB",
};
/// The same behind the whole name of a weight.
constexpr std::array<std::string_view, 7> kScalesOfName{
    "_scale", "_scale_inv", "_weight_scale", "_scales", ".absmax", "._scale", ".scale"};

/// The last parts of the names of tokenizers in ComfyUI's files.
constexpr std::array<std::string_view, 3> kTokenizers{"spiece_model", "tekken_model",
                                                      "tokenizer_json"};

/// True for the buffer of attention that says which positions a token sees, as GPT-2 and GPT-NeoX
/// store it: "attn.bias" of U8 [1, 1, n, n].
bool is_mask(const Entry& entry) {
  const Shape shape = entry.shape();
  return entry.name().ends_with(".bias") && entry.dtype() == "U8" && shape.size() == 4 &&
         shape[0] == 1 && shape[1] == 1 && shape[2] == shape[3];
}

/// True for a tokenizer as ComfyUI stores it in the file of a text encoder or of a whole model: the
/// bytes of its own file as U8 [n].
bool is_tokenizer(const Entry& entry) {
  const std::string_view name = entry.name();
  const std::string_view last = name.substr(name.rfind('.') + 1);  // all of it without a dot
  return contains(kTokenizers, last) && entry.dtype() == "U8" && entry.shape().size() == 1;
}

/// The scheme of words that dequant does not read; null for other tensors.
const Foreign* foreign_scheme(const Groups& groups, const Entry& entry) {
  if (!contains(kIntegers, entry.dtype()) && entry.dtype() != "I8") return nullptr;
  for (const Foreign& foreign : kForeign) {
    const auto module = module_of(entry.name(), foreign.codes);
    if (module && (foreign.beside.empty() || find(groups, *module, foreign.beside) != nullptr))
      return &foreign;
  }
  return nullptr;
}

/// What is missing, of codes of which no scheme is known.
std::string what_is_missing(const Groups& groups, const Entry& entry) {
  const Config& config = groups.config();
  const Entry* const scale = scale_beside(groups, entry);
  const std::string beside = scale == nullptr
                                 ? std::string("no scale belongs to it")
                                 : fmt::format("{} may be its scale", escaped(scale->name()));
  if (const std::string method = config.method(); !method.empty() && scale != nullptr) {
    return fmt::format("{}, and quant_method \"{}\" has no layout of such tensors", beside,
                       escaped(method));
  }
  if (config.method().empty() && config.quantization() != nullptr) {
    return fmt::format(
        "quantization_config has no quant_method, which says how it is quantized "
        "({})",
        beside);
  }
  return fmt::format("nothing in the checkpoint says how it is quantized ({})", beside);
}

/// Tensors of integers with so many dimensions may be codes; fewer are indices of some kind.
constexpr size_t kDimensionsOfCodes = 2;
/// The part of all bytes from which on integers are more than indices of positions.
constexpr int64_t kLargePart = 100;

}  // namespace

const Entry* scale_beside(const Groups& groups, const Entry& codes) {
  const auto look = [&](std::string_view begin, Names ends) {
    const Entry* found = nullptr;
    for (const std::string_view end : ends) {
      if (found == nullptr) found = find(groups, begin, end);
    }
    return found;
  };
  for (const std::string_view weight : kWeights) {
    const auto module = module_of(codes.name(), weight);
    if (!module) continue;
    if (const Entry* scale = look(*module, kScalesOfModule)) return scale;
  }
  return look(codes.name(), kScalesOfName);
}

std::optional<std::string> why_not_dequantized(const Groups& groups, const Entry& entry) {
  if (const Foreign* foreign = foreign_scheme(groups, entry))
    return fmt::format("it holds codes of {}, which dequant does not read", foreign->scheme);
  if (is_mask(entry) || is_tokenizer(entry)) return {};
  if (!contains(kCodes, entry.dtype()) &&
      !(contains(kIntegers, entry.dtype()) && ends_in(entry.name(), kPacked)))
    return {};
  return what_is_missing(groups, entry);
}

std::string warning_of_integers(const Groups& groups) {
  if (!groups.groups().empty() || !groups.unknown().empty() || !groups.unread().empty()) return {};
  const Entry* first = nullptr;
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t all = 0;
  for (const Entry& entry : groups.shards().entries()) {
    all += entry.tensor->bytes;
    if (!contains(kIntegers, entry.dtype()) || entry.shape().size() < kDimensionsOfCodes) continue;
    if (first == nullptr) first = &entry;
    bytes += entry.tensor->bytes;
    ++count;
  }
  if (bytes == 0 || bytes < all / kLargePart) return {};
  return fmt::format(
      "no tensor is dequantized, and {} tensors of integers with {} dimensions or more are copied, "
      "which may be codes of a scheme that dequant does not know: the first is {}",
      count, kDimensionsOfCodes, escaped(first->name()));
}

}  // namespace dequant::format::checkpoint
