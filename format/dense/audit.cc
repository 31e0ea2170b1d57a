// Checking a dense model against its audit: name, type, shape and hash of every tensor.
#include "format/dense/audit.h"

#include <fmt/ranges.h>

#include <unordered_map>
#include <unordered_set>

#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/json/json.h"

namespace dequant::format::dense {
namespace {

/// What a line says of a tensor of the output.
struct Audited {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  std::string hash;
};

Result<Audited> audited(const nlohmann::json& line) {
  Audited out;
  DEQUANT_TRY(out.name, text_member(line, "name"));
  DEQUANT_TRY(out.dtype, text_member(line, "dtype"));
  DEQUANT_TRY(out.shape, integers<int64_t>(line, "shape"));
  DEQUANT_TRY(out.hash, text_member(line, "xxh3_128"));
  return out;
}

std::string list(Shape shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// Why the stored tensor is not the audited one; empty: it is.
Result<std::string> difference(const RestTensor& tensor, const Audited& wanted) {
  if (tensor.type != wanted.dtype)
    return fmt::format("its type is {}, not {}", tensor.type, escaped(wanted.dtype));
  if (!std::ranges::equal(tensor.shape, wanted.shape))
    return fmt::format("its shape is {}, not {}", list(tensor.shape), list(wanted.shape));
  DEQUANT_TRY(const std::string hash, hash_of(*tensor.input, tensor.location.offset, tensor.bytes));
  if (hash == wanted.hash) return std::string();
  return fmt::format("the hash of its bytes is {}, not {}", hash, escaped(wanted.hash));
}

}  // namespace

Result<AuditReport> check_audit(std::span<const RestTensor> tensors, int64_t bytes,
                                const std::string& audit, const Progress& progress) {
  AuditReport report;
  std::unordered_map<std::string_view, const RestTensor*> by_name;
  for (const RestTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  std::unordered_set<const RestTensor*> seen;
  DEQUANT_CHECK(read_audit(audit, [&](const nlohmann::json& line) -> Status {
    auto wanted = audited(line);
    if (!wanted) return in(escaped(audit), wanted.error());
    const auto found = by_name.find(wanted->name);
    if (found == by_name.end()) {
      report.missing.push_back(wanted->name);
      return {};
    }
    const RestTensor& tensor = *found->second;
    if (!seen.insert(&tensor).second) {
      return failure(ErrorCode::malformed, "{}: tensor {} has two lines", escaped(audit),
                     escaped(wanted->name));
    }
    DEQUANT_TRY(std::string reason, difference(tensor, *wanted));
    if (!reason.empty()) report.wrong.push_back({wanted->name, std::move(reason)});
    ++report.tensors;
    report.bytes += tensor.bytes;
    return progress ? progress(report.bytes, bytes) : Status();
  }));
  for (const RestTensor& tensor : tensors) {
    if (!seen.contains(&tensor)) report.unexpected.emplace_back(tensor.name);
  }
  return report;
}

}  // namespace dequant::format::dense
