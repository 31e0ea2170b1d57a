// Which tensors of a checkpoint belong together: small checkpoints of all schemes, with changes. No
// data are computed, so tensors may be of any size.
#include "format/formats.h"
#include "format/model/convert.h"
#include "fuzz/support/check.h"
#include "fuzz/support/checkpoint.h"
#include "fuzz/support/whole_checkpoint.h"

namespace dequant::fuzz {
namespace {

using namespace format;

void fuzz(CheckpointFolder& folder, std::span<const uint8_t> input) {
  Cursor cursor(input.data(), input.size());
  Checkpoint written = checkpoint(cursor);
  const bool changed = cursor.coin();
  if (changed) change(written, cursor);
  const bool two_files = cursor.rarely();
  ConvertOptions options;
  options.open.own.set_if(cursor.rarely(), "keep-unknown");
  if (!folder.write(written, cursor, two_files, int64_t{1} << 40)) return;
  const auto file = open_checkpoint(folder.path(), options.open);
  require(file != nullptr || changed, "a checkpoint of checkpoints.json is refused");
  if (file == nullptr) return;
  const bool some = check_tensors(*file);
  options.write.dry_run = true;
  const auto report = file->write(folder.path() + "-out", options.write);
  if (!accepted(report)) return;
  require(report->converted.empty() != some, "a report of other tensors");
  for (const Left& left : report->left) check_error({ErrorCode::unsupported, left.reason});
  for (const std::string& warning : report->warnings) check_error({ErrorCode::malformed, warning});
}

}  // namespace
}  // namespace dequant::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static dequant::fuzz::CheckpointFolder folder;
  dequant::fuzz::fuzz(folder, {data, size});
  return 0;
}
