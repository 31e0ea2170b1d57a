// AWQ: "X.qweight", "X.qzeros" and "X.scales" become "X.weight".
#include <algorithm>
#include <array>
#include <span>

#include "format/checkpoint/modules.h"
#include "format/checkpoint/schemes/auto_round.h"
#include "format/checkpoint/schemes/gptq_modules.h"
#include "format/checkpoint/schemes/schemes.h"
#include "format/checkpoint/section.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace awq {

constexpr std::string_view kGptq = "gptq";
constexpr std::array kMethods{std::string_view("awq"), kGptq, kAutoRound[0], kAutoRound[1]};

/// The first of two keys that the section has: quant_config.json has names of its own.
const char* key_of(const Section& section, const char* key, const char* old) {
  return section.has(key) ? key : old;
}

/// The layout, gemm or gemv, whose name may have capital letters. The default is gemm.
Result<std::string> layout_of(const Section& section) {
  const char* key = section.has("version")             ? "version"
                    : section.has("checkpoint_format") ? "checkpoint_format"
                                                       : "format";
  DEQUANT_TRY(auto layout, section.text(key));
  std::string lower = layout.value_or("gemm");
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (lower == "gemm" || lower == "gemv") return lower;
  return failure(ErrorCode::unsupported,
                 "{} \"{}\" of AWQ is not supported: only the layouts gemm and gemv are read", key,
                 escaped(*layout));
}

Status check_bits(std::optional<int64_t> bits) {
  if (!bits || *bits == 4) return {};
  return failure(ErrorCode::unsupported, "AWQ with {} bits is not supported", *bits);
}

/// "X.scales" of an activation X, as of falcon and mpt: AutoAWQ multiplies columns of the next
/// weight by these factors before it quantizes that, and its model divides the results of X by
/// them.
Status drop_output_factors(Groups& groups) {
  for (const Entry& entry : groups.shards().entries()) {
    const auto module = module_of(entry.name(), ".scales");
    if (!module || groups.is_used(entry) || entry.shape().size() != 1) continue;
    if (find(groups, *module, ".weight") != nullptr) continue;
    groups.warn(fmt::format(
        "tensor {}: the dense model does not have these factors, by which the quantized model "
        "divides the results of {}: divide column i of the weight that takes them by factor i",
        escaped(entry.name()), escaped(*module)));
    DEQUANT_CHECK(groups.drop(entry, "it divides the results of an activation"));
  }
  return {};
}

class Recogniser {
 public:
  explicit Recogniser(Groups& groups)
      : groups_(groups), section_(groups.config().quantization(), "the quantization config") {}

  Status run() {
    DEQUANT_TRY(const bool ours, read_layout());
    if (!ours) return {};
    DEQUANT_CHECK(read_sizes());
    for (const Entry& entry : groups_.shards().entries()) {
      DEQUANT_TRY(const auto module, words_module(groups_, entry));
      if (module) DEQUANT_CHECK(pack_method_ ? add_of_quark(*module) : add(*module));
    }
    return drop_output_factors(groups_);
  }

 private:
  bool is_gptq() const { return groups_.config().method() == kGptq; }

  /// False for tensors in other layouts, which AutoRound and GPTQModel may have stored.
  Result<bool> read_layout() {
    if (is_auto_round(groups_.config().method())) {
      DEQUANT_TRY(const AutoRoundLayout layout, auto_round_layout(section_));
      return layout == AutoRoundLayout::awq;
    }
    if (is_gptq()) {
      DEQUANT_TRY(const std::string layout, gptq_layout(section_));
      return layout == kGptqGemm;
    }
    DEQUANT_TRY(version_, layout_of(section_));
    DEQUANT_TRY(pack_method_, section_.text("pack_method"));
    return true;
  }

  Status read_sizes() {
    DEQUANT_TRY(const auto bits, section_.integer(key_of(section_, "bits", "w_bit")));
    DEQUANT_CHECK(check_bits(bits));
    const char* key = key_of(section_, "group_size", "q_group_size");
    DEQUANT_TRY(const auto group_size, section_.integer(key));
    if (!group_size) return section_.wrong("group_size", "a number of inputs, or -1");
    group_size_ = *group_size;
    DEQUANT_TRY(extra_, AutoRoundModules::read(section_));
    if (section_.says_something("dynamic")) {
      DEQUANT_TRY(dynamic_, GptqModules::read(section_));
    }
    DEQUANT_TRY(zero_point_, section_.flag("zero_point"));
    return {};
  }

  Status add(const WordsModule& module) {
    DEQUANT_TRY(const int64_t group_size, group_size_of(module));
    DEQUANT_CHECK(check_zeros(module));
    const std::string size_text = std::to_string(group_size);
    const std::array options{SchemeOption{"group_size", size_text},
                             SchemeOption{"version", version_}};
    const std::array tensors{Named{"qweight", module.qweight}, Named{"qzeros", module.qzeros},
                             Named{"scales", module.scales}};
    return groups_.add(module.name + ".weight", "awq", tensors, options);
  }

  /// Quark's export of "custom_mode" awq: its own words under AutoAWQ's names, which AutoAWQ reads
  /// right only where they have zero points and the order of AutoAWQ.
  Status add_of_quark(const WordsModule& module) {
    if (version_ != "gemm" || pack_method_ != "reorder") {
      return failure(ErrorCode::unsupported,
                     "tensor {}: codes of Quark with pack_method \"{}\" and version \"{}\": only "
                     "\"reorder\" and \"gemm\" are read",
                     escaped(module.qweight->name()), escaped(*pack_method_), version_);
    }
    if (!zero_point_) return section_.wrong("zero_point", "true or false, as Quark writes it");
    const std::string size_text = std::to_string(group_size_);
    const std::array options{SchemeOption{"weight_dtype", *zero_point_ ? "uint4" : "int4"},
                             SchemeOption{"group_size", size_text}};
    const std::array tensors{Named{"weight", module.qweight}, Named{"weight_scale", module.scales},
                             Named{"weight_zero_point", module.qzeros}};
    return groups_.add(module.name + ".weight", "quark", tensors, options);
  }

  /// Symmetric codes have zero points of 8, or they are in two's complement.
  Status check_zeros(const WordsModule& module) const {
    uint32_t word = 1;
    if (zero_point_.value_or(true) || module.qzeros->tensor->bytes < int64_t{sizeof(word)})
      return {};
    DEQUANT_CHECK(
        groups_.shards()
            .file_of(*module.qzeros)
            .file.read(module.qzeros->tensor->offset, std::as_writable_bytes(std::span(&word, 1))));
    if (word != 0) return {};
    return failure(ErrorCode::unsupported,
                   "tensor {}: zero points of 0 where zero_point is false: without a pack_method, "
                   "which Quark writes, nothing says whether codes are in two's complement",
                   escaped(module.qzeros->name()));
  }

  /// The group size of a module, by extra_config or by dynamic. GPTQModel has dynamic in its files
  /// whether the quantizer heeds its group sizes (RTN) or not (AWQ): the shapes decide.
  Result<int64_t> group_size_of(const WordsModule& module) const {
    if (const AutoRoundModules::Settings* own = extra_.find(module.name)) {
      DEQUANT_CHECK(check_bits(own->bits));
      return own->group_size.value_or(group_size_);
    }
    if (!dynamic_ || version_ != "gemm") return group_size_;
    DEQUANT_TRY(const auto own, dynamic_->find(module.name));
    if (!own) return group_size_;
    if (!is_gptq()) return has_groups_of(module, group_size_) ? group_size_ : own->group_size;
    DEQUANT_CHECK(check_bits(own->bits));
    return has_groups_of(module, own->group_size) ? own->group_size : group_size_;
  }

  /// True where gemm has as many scales as groups of this size need.
  static bool has_groups_of(const WordsModule& module, int64_t size) {
    if (module.qweight->shape().empty() || module.scales->shape().empty()) return false;
    const int64_t inputs = module.qweight->shape()[0];
    const int64_t groups = size < 1 || size >= inputs ? 1 : (inputs - 1) / size + 1;
    return module.scales->shape()[0] == groups;
  }

  Groups& groups_;
  Section section_;
  std::string version_ = "gemm";
  std::optional<std::string> pack_method_;  ///< Quark wrote the tensors
  int64_t group_size_ = 0;
  std::optional<bool> zero_point_;
  AutoRoundModules extra_;
  std::optional<GptqModules> dynamic_;
};

}  // namespace awq
}  // namespace

const Scheme kAwq{"awq", awq::kMethods, nullptr,
                  [](Groups& groups) { return awq::Recogniser(groups).run(); }};

}  // namespace dequant::format::checkpoint
