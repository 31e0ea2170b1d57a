// MXFP4 experts of gpt-oss: "X.blocks" and "X.scales" in OpenAI's own files, "X_blocks" and
// "X_scales" in files of transformers, whose dense matrices are transposed.
#include <array>

#include "format/checkpoint/schemes/schemes.h"
#include "format/io/errors.h"

namespace dequant::format::checkpoint {
namespace {
namespace gptoss {

constexpr std::array<std::string_view, 1> kMethods{"mxfp4"};

struct Layout {
  std::string_view blocks;
  std::string_view scales;
  bool transposed;
};
constexpr std::array kLayouts{Layout{".blocks", ".scales", false},
                              Layout{"_blocks", "_scales", true}};

/// The layout that the name of the entry has, or null.
const Layout* layout_of(const Entry& entry) {
  for (const Layout& layout : kLayouts) {
    if (entry.name().ends_with(layout.blocks)) return &layout;
  }
  return nullptr;
}

std::string module_of(const Entry& entry, const Layout& layout) {
  return std::string(entry.name().substr(0, entry.name().size() - layout.blocks.size()));
}

Status recognise_experts(Groups& groups) {
  // The configuration of OpenAI's own files says no type: their code computes in bfloat16.
  const Element output = groups.config().dtype().value_or(Element::bfloat16);
  for (const Entry& entry : groups.shards().entries()) {
    const Layout* layout = layout_of(entry);
    if (layout == nullptr) continue;
    std::string name = module_of(entry, *layout);
    const Entry* scales = groups.find(name + std::string(layout->scales));
    if (scales == nullptr) {
      return failure(ErrorCode::malformed, "tensor {}: there is no {}{} with its scales",
                     escaped(entry.name()), escaped(name), layout->scales);
    }
    const std::array<Named, 2> tensors{Named{"blocks", &entry}, Named{"scales", scales}};
    const std::array<SchemeOption, 1> options{
        SchemeOption{"transposed", layout->transposed ? "true" : "false"}};
    DEQUANT_CHECK(groups.add(std::move(name), "gptoss", tensors, options, output));
  }
  return {};
}

bool is_own(const Groups& groups, const Entry& entry) {
  const Layout* layout = layout_of(entry);
  return layout != nullptr && entry.dtype() == "U8" &&
         groups.find(module_of(entry, *layout) + std::string(layout->scales)) != nullptr;
}

}  // namespace gptoss
}  // namespace

const Scheme kGptOss{"gptoss", gptoss::kMethods, &gptoss::is_own, &gptoss::recognise_experts};

}  // namespace dequant::format::checkpoint
