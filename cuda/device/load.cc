// Tensors of model files in memory of a device.
#include "cuda/device/load.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "cuda/device/upload.h"
#include "dequant/block.h"
#include "format/model/code_bands.h"
#include "format/model/ranges.h"
#include "format/model/region_reader.h"

namespace dequant::cuda {
namespace {

using format::RecipeReaders;
using format::StoredReader;

/// Bytes of codes that a band may read besides its own.
constexpr int64_t kSlack = int64_t{1} << 12;

Result<size_t> size_of(const StoredReader& reader) {
  DEQUANT_TRY(const int64_t bytes, packed_bytes(reader.element(), reader.count()));
  return static_cast<size_t>(bytes);
}

std::span<const std::byte> part(std::span<const std::byte> bytes, Range range) {
  return bytes.subspan(static_cast<size_t>(range.begin),
                       static_cast<size_t>(range.end - range.begin));
}

/// Joins the batch after the work, also after a failure or std::bad_alloc: copies and kernels on
/// the slots use memory that the caller frees next.
template <class Work>
Status joined(Batch& batch, const Work& work) {
  Status status;
  try {
    status = work();
  } catch (const std::bad_alloc&) {
    status = Error{ErrorCode::out_of_memory, "out of memory"};
  }
  const Status after = batch.join();
  return status ? after : status;
}

/// One tensor that a recipe computes.
class Loading {
 public:
  Loading(Batch& batch, const Plan& plan, RecipeReaders readers, std::span<std::byte> y,
          const Executor& executor)
      : batch_(batch), plan_(plan), readers_(std::move(readers)), y_(y), executor_(executor) {}

  /// Puts everything on slots of the ring and on the stream of the batch.
  Status start() {
    if (needs_faults(plan_)) {
      DEQUANT_TRY(faults_, Faults::make(batch_.device(), batch_.stream()));
    }
    DEQUANT_CHECK(upload_parameters());
    const auto ends = bands();
    DEQUANT_CHECK(ends ? run_bands(*ends) : run_whole());
    return format::finish(readers_);
  }

  /// After the batch was joined.
  Status check() const { return faults_ ? faults_->check() : Status(); }

 private:
  struct Parameter {
    Element element;
    Range Slices::*slice;
    std::span<const std::byte> Buffers::*buffer;
    Scratch memory;
  };

  Status upload_parameters() {
    using Slice = Range Slices::*;
    using Buffer = std::span<const std::byte> Buffers::*;
    struct Given {
      StoredReader* reader;
      Slice slice;
      Buffer buffer;
    };
    const Given all[] = {
        {readers_.scale.get(), &Slices::scale, &Buffers::scale},
        {readers_.zero_point.get(), &Slices::zero_point, &Buffers::zero_point},
        {readers_.tensor_scale.get(), &Slices::tensor_scale, &Buffers::tensor_scale},
        {readers_.group_index.get(), &Slices::group_index, &Buffers::group_index},
        {readers_.codebook.get(), &Slices::codebook, &Buffers::codebook}};
    for (const Given& given : all) {
      if (given.reader == nullptr) continue;
      DEQUANT_TRY(const size_t size, size_of(*given.reader));
      DEQUANT_TRY(Scratch memory, Scratch::make(batch_.device(), size, batch_.stream()));
      parameters_.push_back(
          {given.reader->element(), given.slice, given.buffer, std::move(memory)});
    }
    DEQUANT_CHECK(batch_.fork());
    size_t next = 0;
    for (const Given& given : all) {
      if (given.reader == nullptr) continue;
      DEQUANT_CHECK(upload(batch_, *given.reader, parameters_[next++].memory.bytes(), executor_));
    }
    return batch_.join();
  }

  /// The bytes of the codes that a range of elements needs, and the range of the reader.
  std::pair<Range, Range> codes_of(Range elements) const {
    const Range slice = slices_of(plan_, elements).x;
    const Range bytes = x_bytes_of(plan_, slice);
    return {bytes, format::has_packed_codes(plan_) ? bytes : slice};
  }

  /// Elements whose codes have at most so many bytes: whole blocks, or a multiple of 64.
  int64_t elements_in(int64_t bytes) const {
    if (const auto& blocks = plan_.parameters.x_blocks)
      return bytes / block_bytes(*blocks) * block_elements(*blocks);
    return bytes / code_bits(plan_) * 8 / 64 * 64;
  }
  int64_t bytes_in(int64_t elements) const {
    if (const auto& blocks = plan_.parameters.x_blocks)
      return elements / block_elements(*blocks) * block_bytes(*blocks);
    return elements * code_bits(plan_) / 8;
  }

  /// The ends of bands whose codes fit in a slot, and which end with rows if one fits. Nothing
  /// where they do not, where the codes can only be read in order, and where bands would read many
  /// codes more than once: then all codes are on the device at once.
  std::optional<std::vector<int64_t>> bands() const {
    const auto slot = static_cast<int64_t>(batch_.ring().slot_bytes());
    const int64_t most = elements_in(slot - kSlack);
    if (!readers_.codes->seekable() || most <= 0) return {};
    const int64_t count = element_count(plan_);
    const int64_t row = row_elements(plan_);
    std::vector<int64_t> ends;
    int64_t needless = 0;
    for (int64_t begin = 0; begin < count; begin = ends.back()) {
      const int64_t end = format::chunk_end(plan_, begin, most);
      const int64_t of_rows = end - end % row;
      ends.push_back(end < count && of_rows > begin ? of_rows : end);
      const Range bytes = codes_of({begin, ends.back()}).first;
      const int64_t size = bytes.end - bytes.begin;
      needless += size - bytes_in(ends.back() - begin);
      if (size > slot || needless > bytes.end / 4 + kSlack * static_cast<int64_t>(ends.size()))
        return {};
    }
    return ends;
  }

  Status run_bands(const std::vector<int64_t>& ends) {
    DEQUANT_CHECK(batch_.fork());
    const auto band = [&](int64_t i, Slot& slot) {
      const auto at = static_cast<size_t>(i);
      return run_band({at == 0 ? 0 : ends[at - 1], ends[at]}, slot);
    };
    return for_each_slot(batch_, static_cast<int64_t>(ends.size()), executor_, band);
  }

  Status run_band(Range elements, Slot& slot) {
    const auto [bytes, codes] = codes_of(elements);
    const auto size = static_cast<size_t>(bytes.end - bytes.begin);
    const auto pinned = slot.pinned.first(size);
    DEQUANT_CHECK(readers_.codes->read_at(codes, pinned));
    DEQUANT_CHECK(batch_.device().copy_in(slot.device.data(), pinned, slot.stream));
    const int64_t width = bits(plan_.output) / 8;
    Buffers buffers{};
    buffers.x = slot.device.first(size);
    buffers.y = y_.subspan(static_cast<size_t>(elements.begin * width),
                           static_cast<size_t>((elements.end - elements.begin) * width));
    const Slices slices = slices_of(plan_, elements);
    for (const Parameter& p : parameters_) {
      const Range slice = slices.*p.slice;
      buffers.*p.buffer =
          part(p.memory.bytes(), p.slice == &Slices::zero_point ? zero_point_bytes_of(plan_, slice)
                                                                : bytes_of(p.element, slice));
    }
    return batch_.device().run(plan_, elements, buffers, slot.stream, word());
  }

  Status run_whole() {
    DEQUANT_TRY(const size_t size, size_of(*readers_.codes));
    DEQUANT_TRY(codes_, Scratch::make(batch_.device(), size, batch_.stream()));
    DEQUANT_CHECK(batch_.fork());
    DEQUANT_CHECK(upload(batch_, *readers_.codes, codes_.bytes(), executor_));
    DEQUANT_CHECK(batch_.join());
    Buffers buffers{};
    buffers.x = codes_.bytes();
    buffers.y = y_;
    for (const Parameter& p : parameters_) buffers.*p.buffer = p.memory.bytes();
    return batch_.device().run(plan_, std::nullopt, buffers, batch_.stream(), word());
  }

  uint32_t* word() const { return faults_ ? faults_->word() : nullptr; }

  Batch& batch_;
  const Plan& plan_;
  RecipeReaders readers_;
  const std::span<std::byte> y_;
  const Executor executor_;
  std::vector<Parameter> parameters_;
  Scratch codes_;
  std::optional<Faults> faults_;
};

/// Copies a stored tensor.
Status copy(Ring& ring, StoredReader& reader, std::span<std::byte> y, Stream stream,
            const Executor& executor) {
  DEQUANT_TRY(Batch batch, Batch::make(ring, stream));
  DEQUANT_CHECK(batch.fork());
  DEQUANT_CHECK(joined(batch, [&] { return upload(batch, reader, y, executor); }));
  return reader.finish();
}

}  // namespace

Status load(Ring& ring, format::ModelFile& file, const format::DenseTensor& tensor,
            std::span<std::byte> y, Stream stream, const Executor& executor) {
  const format::StreamOptions options{.executor = executor};
  if (!tensor.recipe) {
    DEQUANT_TRY(const auto reader, file.open(tensor.stored, options.memory));
    return copy(ring, *reader, y, stream, executor);
  }
  DEQUANT_TRY(RecipeReaders readers, format::open_readers(file, tensor, options));
  return load(ring, tensor.recipe->plan, std::move(readers), y, stream, executor);
}

Status load(Ring& ring, const Plan& plan, RecipeReaders readers, std::span<std::byte> y,
            Stream stream, const Executor& executor) {
  DEQUANT_TRY(Batch batch, Batch::make(ring, stream));
  Loading loading(batch, plan, std::move(readers), y, executor);
  DEQUANT_CHECK(joined(batch, [&] { return loading.start(); }));
  return loading.check();
}

Status load_bytes(Ring& ring, const format::InputFile& file, int64_t offset, std::span<std::byte> y,
                  Stream stream, const Executor& executor) {
  format::RegionReader reader(file, offset, Element::uint8, static_cast<int64_t>(y.size()),
                              file.name());
  return copy(ring, reader, y, stream, executor);
}

}  // namespace dequant::cuda
