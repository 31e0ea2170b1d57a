// Checking a checkpoint against its audit: name, type, shape and hash of every tensor.
#include "format/checkpoint/audit.h"

#include <unordered_set>

#include "format/io/errors.h"
#include "format/io/hash.h"
#include "format/json/json.h"

namespace dequant::format::checkpoint {
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
Result<std::string> difference(const Shards& shards, const Entry& entry, const Audited& wanted) {
  if (entry.dtype() != wanted.dtype)
    return fmt::format("its type is {}, not {}", entry.dtype(), escaped(wanted.dtype));
  if (!std::ranges::equal(entry.shape(), wanted.shape))
    return fmt::format("its shape is {}, not {}", list(entry.shape()), list(wanted.shape));
  DEQUANT_TRY(const std::string hash,
              hash_of(shards.file_of(entry).file, entry.tensor->offset, entry.tensor->bytes));
  if (hash == wanted.hash) return std::string();
  return fmt::format("the hash of its bytes is {}, not {}", hash, escaped(wanted.hash));
}

}  // namespace

Result<AuditReport> check_audit(const Shards& shards, const std::string& audit,
                                const Progress& progress) {
  AuditReport report;
  std::unordered_set<const Entry*> seen;
  DEQUANT_CHECK(read_audit(audit, [&](const nlohmann::json& line) -> Status {
    auto wanted = audited(line);
    if (!wanted) return in(escaped(audit), wanted.error());
    const Entry* entry = shards.find(wanted->name);
    if (entry == nullptr) {
      report.missing.push_back(wanted->name);
      return {};
    }
    if (!seen.insert(entry).second) {
      return failure(ErrorCode::malformed, "{}: tensor {} has two lines", escaped(audit),
                     escaped(wanted->name));
    }
    DEQUANT_TRY(std::string reason, difference(shards, *entry, *wanted));
    if (!reason.empty()) report.wrong.push_back({wanted->name, std::move(reason)});
    ++report.tensors;
    report.bytes += entry->tensor->bytes;
    return progress ? progress(report.bytes, shards.bytes()) : Status();
  }));
  for (const Entry& entry : shards.entries()) {
    if (!seen.contains(&entry)) report.unexpected.emplace_back(entry.name());
  }
  DEQUANT_CHECK(shards.check_unchanged());
  return report;
}

}  // namespace dequant::format::checkpoint
