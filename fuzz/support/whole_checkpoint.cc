// What holds for every checkpoint that can be opened.
#include "fuzz/support/whole_checkpoint.h"

#include <set>
#include <string>

#include "format/formats.h"
#include "format/json/json.h"
#include "format/model/format.h"
#include "fuzz/support/check.h"

namespace dequant::fuzz {

using namespace format;

std::unique_ptr<ModelFile> open_checkpoint(const std::string& path, const OpenOptions& options) {
  auto file = open_model(formats(), path, options);
  if (accepted(file)) return *std::move(file);
  const auto again = open_model(formats(), path, options);
  require(!accepted(again) && again.error().message == file.error().message,
          "opened twice, two outcomes");
  return nullptr;
}

int64_t count_of(std::span<const int64_t> shape) {
  const auto count = element_count(shape);
  return count ? *count : 0;
}

bool check_tensors(ModelFile& file) {
  std::set<std::string, std::less<>> names;
  std::set<const void*> used;
  bool some = false;
  const auto add = [&](std::string_view name) {
    require(names.emplace(name).second, "two tensors of a name");
  };
  const auto dense = [&](const DenseTensor& tensor) -> Status {
    add(tensor.name);
    const Plan& plan = tensor.recipe->plan;
    require(element_count(plan) == count_of(tensor.shape), "a shape that is not that of the plan");
    check_error({ErrorCode::malformed, to_string(plan)});
    const auto source = [&](const void* identity, int64_t) { used.insert(identity); };
    file.for_each_source(tensor.stored, source);
    tensor.recipe->for_each_parameter(
        [&](const StoredTensor& t) { file.for_each_source(t, source); });
    some = true;
    return {};
  };
  const auto left = [](const LeftTensor&) { return Status(); };
  (void)file.facts().dump();
  (void)file.headline();
  require(accepted(file.visit({dense, left})), "a tensor that cannot be told");
  require(accepted(file.visit_rest([&](const RestTensor& rest) -> Status {
            if (rest.dropped.empty()) add(rest.name);
            const auto stored = file.stored(std::string(rest.name));
            if (!accepted(stored)) return {};
            require(*stored && !used.contains((*stored)->stored.identity),
                    "a tensor with two uses");
            return {};
          })),
          "a tensor that cannot be told");
  return some;
}

}  // namespace dequant::fuzz
