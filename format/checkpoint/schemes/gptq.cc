// GPTQ: "X.qweight", "X.qzeros", "X.scales" and "X.g_idx" become "X.weight".
#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/all_ones.h"
#include "format/checkpoint/schemes/auto_round.h"
#include "format/checkpoint/schemes/gptq_modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace gptq {

constexpr std::array<std::string_view, 3> kMethods{"gptq", kAutoRound[0], kAutoRound[1]};
constexpr int64_t kMostIndexBytes = int64_t{64} << 20;

struct Module : WordsModule {
  const Entry* g_idx;  ///< null: there is none
};

/// What g_idx says of the inputs.
struct Index {
  int64_t inputs = 0;
  std::optional<int64_t> group_size = {};  ///< none: groups have no order
};

/// ceil(codes * bits / 32), of a stored shape, whose sizes are far below 2^63 / 8.
int64_t words_of(int64_t codes, int64_t bits, bool planar) {
  return planar ? (codes + 31) / 32 * bits : (codes * bits + 31) / 32;
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups)
      : groups_(groups), section_(groups.config().quantization(), "the quantization config") {}

  Status run() {
    DEQUANT_TRY(const bool ours, read_format());
    if (!ours) return {};
    DEQUANT_CHECK(read_sizes());
    for (const Entry& entry : groups_.shards().entries()) {
      DEQUANT_TRY(auto module, words_module(groups_, entry));
      if (!module) continue;
      const Entry* g_idx = find(groups_, module->name, ".g_idx");
      DEQUANT_CHECK(add({*std::move(module), g_idx}));
    }
    return {};
  }

 private:
  /// False for tensors in other layouts, as of AWQ, which AutoRound and GPTQModel may have stored.
  Result<bool> read_format() {
    if (is_auto_round(groups_.config().method())) {
      DEQUANT_TRY(const AutoRoundLayout layout, auto_round_layout(section_));
      format_ = layout == AutoRoundLayout::gptq ? "gptq" : "gptq_v2";
      return layout == AutoRoundLayout::gptq || layout == AutoRoundLayout::gptq_v2;
    }
    DEQUANT_TRY(format_, gptq_layout(section_));
    if (format_ == kGptqGemm) return false;
    if (format_ != "gptq" && format_ != "gptq_v2" && format_ != "gptq_p") {
      return failure(ErrorCode::unsupported,
                     "{} \"{}\" of GPTQ is not one of gptq, gptq_v2, gptq_p, gemm",
                     gptq_layout_key(section_), escaped(format_));
    }
    DEQUANT_TRY(const auto marlin, section_.flag("is_marlin_format"));
    DEQUANT_TRY(const auto dtype, section_.text("pack_dtype"));
    if (marlin.value_or(false) || dtype.value_or("int32") != "int32") {
      return failure(
          ErrorCode::unsupported, "{} of GPTQ are not supported",
          marlin.value_or(false) ? "tensors in Marlin's layout" : "words of " + escaped(*dtype));
    }
    return true;
  }

  Status read_sizes() {
    DEQUANT_TRY(modules_, GptqModules::read(section_));
    DEQUANT_TRY(extra_, AutoRoundModules::read(section_));
    return read_writer();
  }

  /// GPTQModel subtracts from whole words of zero points, and others from each zero point.
  Status read_writer() {
    DEQUANT_TRY(const Section meta, section_.object("meta"));
    const nlohmann::ordered_json* quantizer = meta.find("quantizer");
    by_word_ = quantizer != nullptr && quantizer->dump().find("gptqmodel:") != std::string::npos;
    return {};
  }

  bool is_planar() const { return format_ == "gptq_p"; }

  Status add(Module module) {
    for (const Entry* matrix : {module.qweight, module.qzeros, module.scales}) {
      if (matrix->shape().size() != 2 || matrix->tensor->bytes == 0) {
        return failure(ErrorCode::malformed, "tensor {}: {} dimensions and {} bytes, no matrix",
                       escaped(matrix->name()), matrix->shape().size(), matrix->tensor->bytes);
      }
    }
    DEQUANT_TRY(const auto settings, settings_of(module));
    DEQUANT_TRY(const Index index, index_of(module, settings));
    int64_t bits = 0;
    if (settings) {
      bits = settings->bits;
    } else {
      DEQUANT_TRY(bits, bits_that_fit(module, index));
    }
    const bool in_order = module.g_idx != nullptr && index.group_size;
    const std::string bits_text = std::to_string(bits);
    const std::string size_text = std::to_string(index.group_size.value_or(-1));
    const std::string inputs_text = std::to_string(index.inputs);
    const std::array options{SchemeOption{"bits", bits_text}, SchemeOption{"format", format_},
                             SchemeOption{"carry", by_word_ ? "word" : "field"},
                             SchemeOption{"group_size", size_text},
                             SchemeOption{"in_features", inputs_text}};
    const std::array tensors{Named{"qweight", module.qweight}, Named{"qzeros", module.qzeros},
                             Named{"scales", module.scales},
                             Named{"g_idx", in_order ? nullptr : module.g_idx}};
    DEQUANT_TRY(Group group, groups_.group_of(module.name + ".weight", "gptq", tensors, options));
    if (in_order) group.also.push_back(module.g_idx);
    DEQUANT_CHECK(groups_.add(std::move(group)));
    if (format_ == "gptq") warn_of_ones(module, bits);
    return {};
  }

  /// The bits and the group size of a module; nothing where extra_config has settings of other
  /// modules only. The module may have settings there all the same: names in extra_config are those
  /// of the model in memory, and the file may have other names.
  Result<std::optional<GptqSettings>> settings_of(const Module& module) const {
    if (extra_.empty()) return modules_.find(module.name);
    const AutoRoundModules::Settings* own = extra_.find(module.name);
    if (own == nullptr) return std::optional<GptqSettings>();
    GptqSettings settings = modules_.all();
    if (own->bits) settings.bits = *own->bits;
    if (own->group_size) settings.group_size = *own->group_size;
    return std::optional(settings);
  }

  /// Reads the group of each input, which must be one of the groups that there are.
  Result<Index> index_of(const Module& module, const std::optional<GptqSettings>& settings) const {
    const GptqSettings known = settings.value_or(modules_.all());
    if (module.g_idx == nullptr) {
      // Of one group all inputs have the same parameters in any order.
      if (!known.desc_act.value_or(false) || module.scales->shape()[0] <= 1)
        return Index{0, known.group_size};
      return failure(ErrorCode::malformed,
                     "module {}: there is no {}.g_idx, which has the groups of the inputs where "
                     "desc_act is true",
                     escaped(module.name), escaped(module.name));
    }
    const std::string name = escaped(module.g_idx->name());
    if (module.g_idx->dtype() != "I32") {
      return failure(ErrorCode::malformed, "tensor {}: type {}, not I32", name,
                     module.g_idx->dtype());
    }
    DEQUANT_TRY(const auto bytes, groups_.shards().read(*module.g_idx, kMostIndexBytes));
    std::vector<int32_t> index(bytes.size() / sizeof(int32_t));
    if (index.empty()) return failure(ErrorCode::malformed, "tensor {}: it has no entries", name);
    std::memcpy(index.data(), bytes.data(), bytes.size());
    const int64_t groups = module.scales->shape()[0];
    if (const int64_t others = module.qzeros->shape()[0]; others != groups) {
      return failure(ErrorCode::malformed, "tensor {}: {} groups, and {} has {}",
                     escaped(module.scales->name()), groups, escaped(module.qzeros->name()),
                     others);
    }
    for (size_t i = 0; i < index.size(); ++i) {
      if (index[i] >= 0 && index[i] < groups) continue;
      return failure(ErrorCode::malformed, "tensor {}: entry {} is {}, and there are {} groups",
                     name, i, index[i], groups);
    }
    const auto inputs = static_cast<int64_t>(index.size());
    const auto size = length_of_groups(index);
    if (!known.desc_act.value_or(true) && !size) {
      return failure(ErrorCode::malformed, "tensor {}: groups have no order, and desc_act is false",
                     name);
    }
    if (!settings || !size) return Index{inputs, size};
    const int64_t configured = settings->group_size == -1 ? inputs : settings->group_size;
    if (*size != std::min(configured, inputs)) {
      return failure(ErrorCode::malformed, "tensor {}: groups of {} inputs, and group_size is {}",
                     name, *size, settings->group_size);
    }
    return Index{inputs, size};
  }

  /// The length of groups that follow one another, of which the last may be short.
  static std::optional<int64_t> length_of_groups(const std::vector<int32_t>& index) {
    size_t length = 0;
    while (length < index.size() && index[length] == index[0]) ++length;
    for (size_t i = 0; i < index.size(); ++i) {
      if (static_cast<size_t>(index[i]) != i / length) return {};
    }
    return static_cast<int64_t>(length);
  }

  /// The bits of a code by the shapes.
  Result<int64_t> bits_that_fit(const Module& module, const Index& index) const {
    const int64_t words = module.qweight->shape()[0];
    const int64_t out = module.scales->shape()[1];
    std::vector<int64_t> fit;
    for (const int64_t bits : {2, 3, 4, 5, 6, 7, 8}) {
      const int64_t inputs = module.g_idx != nullptr ? index.inputs : words * 32 / bits;
      if (words_of(inputs, bits, is_planar()) == words &&
          words_of(out, bits, is_planar()) == module.qzeros->shape()[1])
        fit.push_back(bits);
    }
    if (fit.size() == 1) return fit[0];
    // A module that extra_config does not name has the bits of the whole model.
    const int64_t whole = modules_.all().bits;
    if (!extra_.empty() && !extra_.has_unknown() &&
        std::find(fit.begin(), fit.end(), whole) != fit.end())
      return whole;
    return failure(fit.empty() ? ErrorCode::malformed : ErrorCode::unsupported,
                   "module {}: {} of 2 to 8 bits fit the shapes of qweight and qzeros, and the "
                   "configuration lets modules differ",
                   escaped(module.name), fit.empty() ? "none" : "several");
  }

  void warn_of_ones(const Module& module, int64_t bits) {
    const bool carries = by_word_ && 32 % bits == 0;
    const Entry& zeros = *module.qzeros;
    const int64_t out = module.scales->shape()[1];
    groups_.warn_later([&zeros, &shards = groups_.shards(), bits, out,
                        carries]() -> Result<std::string> {
      DEQUANT_TRY(const int64_t ones, count_all_ones(shards, zeros, out, static_cast<int>(bits)));
      if (ones == 0) return std::string();
      return fmt::format(
          "tensor {}: {} stored zero points are all ones; plus 1 each is read as 0{}",
          escaped(zeros.name()), ones,
          carries ? " with a carry to the next one, as GPTQModel writes it"
                  : fmt::format(", and other readers take {}", 1 << bits));
    });
  }

  Groups& groups_;
  Section section_;
  std::string format_;
  GptqModules modules_;
  AutoRoundModules extra_;
  bool by_word_ = false;
};

}  // namespace gptq
}  // namespace

const Scheme kGptq{"gptq", gptq::kMethods, nullptr,
                   [](Groups& groups) { return gptq::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
