// The tensors of a GGUF model as transformers has them.
#include "format/gguf/names/rename.h"

#include <algorithm>
#include <array>
#include <deque>

#include "format/gguf/describe.h"

namespace dequant::format::gguf {
namespace {

constexpr std::string_view kLayer = "blk.";
constexpr std::string_view kPlace = "{}";
/// Tensors of experts, of which the largest models have 50,000: a small file may claim any number.
constexpr int64_t kMostExperts = 262'144;

/// A name of GGUF: of "blk.12.attn_q.weight" the layer "12", "blk.{}.attn_q" and ".weight".
struct NameParts {
  std::string_view layer;
  std::string base;
  std::string_view last;
};

NameParts split(std::string_view name) {
  NameParts out;
  if (name.starts_with(kLayer)) {
    const size_t end = name.find_first_not_of("0123456789", kLayer.size());
    if (end != std::string_view::npos && end > kLayer.size() && name[end] == '.') {
      out.layer = name.substr(kLayer.size(), end - kLayer.size());
      out.base = fmt::format("{}{}", kLayer, kPlace);
      name.remove_prefix(end);
    }
  }
  const size_t dot = std::min(name.rfind('.'), name.size());
  out.base += name.substr(0, dot);
  out.last = name.substr(dot);
  return out;
}

/// The text with a place replaced.
std::string with(std::string_view text, std::string_view in_place) {
  const size_t at = text.find(kPlace);
  if (at == std::string_view::npos) return std::string(text);
  return fmt::format("{}{}{}", text.substr(0, at), in_place, text.substr(at + kPlace.size()));
}

class Renaming {
 public:
  Renaming(const Parts& parts, const Architecture& architecture)
      : parts_(parts), architecture_(architecture) {}

  Status run() {
    for (const Entry& entry : parts_.entries()) {
      if (auto added = add(entry); !added)
        return in(fmt::format("tensor \"{}\"", escaped(entry.name())), std::move(added).error());
    }
    return {};
  }

  std::deque<View> views;
  std::vector<Entry> entries;

 private:
  View& new_view(const Entry& entry, std::string name) {
    View& view = views.emplace_back();
    view.name = std::move(name);
    view.shape.assign(entry.shape().begin(), entry.shape().end());
    view.bytes = entry.tensor->bytes;
    entries.push_back({entry.tensor, entry.part, &view});
    return view;
  }

  Status add(const Entry& entry) {
    if (entry.original != nullptr) {
      return failure(ErrorCode::unsupported,
                     "names hf: it has another shape in the model, as key \"{}{}\" says",
                     kOriginalShape, escaped(entry.name()));
    }
    const NameParts parts = split(entry.name());
    std::string_view last = parts.last;
    const TensorName* row = find_tensor(architecture_, fmt::format("{}{}", parts.base, parts.last));
    if (row != nullptr) last = {};
    if (row == nullptr) row = find_tensor(architecture_, parts.base);
    constexpr std::array<std::string_view, 4> kLast{".weight", ".bias", ".scale", ".input_scale"};
    if (row == nullptr || (!last.empty() && std::ranges::find(kLast, last) == kLast.end())) {
      return failure(ErrorCode::unsupported,
                     "names hf: no tensor of transformers is known for it in models of kind {}",
                     architecture_.name);
    }
    const std::string name = fmt::format("{}{}", with(row->transformers, parts.layer), last);
    const bool is_factor = last == ".scale" || last == ".input_scale";
    return change(entry, row->change, name, is_factor);
  }

  Status change(const Entry& entry, Change change, const std::string& name, bool is_factor) {
    if (change == Change::stacked)
      return is_factor ? add_expert_factors(entry, name) : add_experts(entry, name);
    if (change == Change::transposed) {
      return failure(ErrorCode::unsupported,
                     "names hf: it is a part of kv_b_proj of transformers, and half of that was "
                     "transposed before it was quantized");
    }
    if (change == Change::computed) {
      View& view = new_view(entry, std::string(entry.name()));
      view.dropped = "numbers that transformers computes from config.json";
      return {};
    }
    View& view = new_view(entry, name);
    if (is_factor) return {};
    switch (change) {
      case Change::query_rows: return set_head(view, entry, "attention.head_count", {});
      case Change::key_rows:
        return set_head(view, entry, "attention.head_count_kv", "attention.head_count");
      case Change::plus_one: return set_less_one(view, entry);
      case Change::flattened:
        if (view.shape.size() == 1) view.shape.insert(view.shape.begin(), 1);
        return {};
      default: return {};
    }
  }

  Status add_experts(const Entry& entry, const std::string& name) {
    const Shape shape = entry.shape();
    if (shape.empty() || shape[0] < 1) {
      return failure(ErrorCode::malformed, "names hf: it has no dimension of experts");
    }
    const int64_t experts = shape[0];
    DEQUANT_CHECK(count_experts(experts));
    const int64_t bytes = entry.tensor->bytes / experts;
    for (int64_t expert = 0; expert < experts; ++expert) {
      View& view = new_view(entry, with(name, std::to_string(expert)));
      view.shape.erase(view.shape.begin());
      view.offset = expert * bytes;
      view.bytes = bytes;
    }
    return {};
  }

  /// A stack has a factor for each expert, or one that is that of all of them.
  Status add_expert_factors(const Entry& entry, const std::string& name) {
    const Entry* stack = weight_of(entry);
    if (stack == nullptr || stack->shape().empty() || stack->shape()[0] < 1) {
      return failure(ErrorCode::malformed, "names hf: its tensor of experts is not there");
    }
    const int64_t experts = stack->shape()[0];
    DEQUANT_TRY(const int64_t count, element_count(entry.shape()));
    if (entry.type().element != Element::float32 || (count != 1 && count != experts)) {
      return failure(ErrorCode::unsupported,
                     "names hf: it has {} numbers of type {}, neither one float32 nor one for each "
                     "of the {} experts of \"{}\"",
                     count, entry.type().name, experts, escaped(stack->name()));
    }
    DEQUANT_CHECK(count_experts(experts));
    const int64_t bytes = entry.tensor->bytes / count;
    for (int64_t expert = 0; expert < experts; ++expert) {
      View& view = new_view(entry, with(name, std::to_string(expert)));
      view.shape = {1};
      view.offset = count == 1 ? 0 : expert * bytes;
      view.bytes = bytes;
    }
    return {};
  }

  /// The stored tensor that a factor or the scale of an activation belongs to, or null.
  const Entry* weight_of(const Entry& factor) const {
    const std::string base(factor.name().substr(0, factor.name().rfind('.')));
    const Entry* weight = parts_.find(base + ".weight");
    return weight != nullptr ? weight : parts_.find(base);
  }

  Status count_experts(int64_t experts) {
    if (experts > kMostExperts - experts_) {
      return failure(ErrorCode::limit, "names hf: with its {} experts more than {} tensors of such",
                     experts, kMostExperts);
    }
    experts_ += experts;
    return {};
  }

  Status set_head(View& view, const Entry& entry, std::string_view key, std::string_view other) {
    DEQUANT_TRY(auto heads, integer(key));
    if (!heads && !other.empty()) {
      DEQUANT_TRY(heads, integer(other));
    }
    const int64_t rows = entry.shape().empty() ? 0 : entry.shape()[0];
    if (!heads || *heads < 1 || rows % *heads != 0 || rows / *heads % 2 != 0) {
      return failure(ErrorCode::malformed,
                     "names hf: its {} rows are not the pairs of rows of {} heads, which is {}.{}",
                     rows, heads ? std::to_string(*heads) : std::string("unknown"),
                     architecture_.name, key);
    }
    view.head = rows / *heads;
    return {};
  }

  Status set_less_one(View& view, const Entry& entry) {
    if (entry.type().element != Element::float32) {
      return failure(ErrorCode::unsupported,
                     "names hf: 1 was added to its numbers, which is taken back from F32 only, and "
                     "these have type {}",
                     entry.type().name);
    }
    view.less_one = true;
    return {};
  }

  Result<std::optional<int64_t>> integer(std::string_view key) const {
    return parts_.metadata().integer(fmt::format("{}.{}", architecture_.name, key));
  }

  const Parts& parts_;
  const Architecture& architecture_;
  int64_t experts_ = 0;  ///< tensors of experts so far
};

}  // namespace

Result<const Architecture*> architecture_of(const Parts& parts) {
  const std::string name = architecture(parts);
  if (const Architecture* known = find_architecture(name)) return known;
  std::string all;
  for (const Architecture& a : architectures())
    fmt::format_to(std::back_inserter(all), "{}{}", all.empty() ? "" : ", ", a.name);
  return failure(ErrorCode::unsupported,
                 "names hf: the architecture is \"{}\", and names of transformers are known for {}",
                 escaped(name), all);
}

Status rename_for_transformers(Parts& parts) {
  DEQUANT_TRY(const Architecture* architecture, architecture_of(parts));
  Renaming renaming(parts, *architecture);
  DEQUANT_CHECK(renaming.run());
  return parts.set_entries(std::move(renaming.entries), std::move(renaming.views));
}

}  // namespace dequant::format::gguf
