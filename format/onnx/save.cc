// Writing an edited model. With a data file, both files are written and flushed before they have
// names. Then the data file gets a new name, and immediately after that the model, which refers to
// it. Until then other processes find the old model unchanged.
#include "format/onnx/save.h"

#include <algorithm>

#include "format/dense/share.h"
#include "format/dense/writes.h"
#include "format/io/errors.h"
#include "format/io/room.h"
#include "format/model/overflows.h"
#include "format/onnx/constant_reader.h"
#include "format/onnx/encode.h"
#include "format/onnx/share_job.h"
#include "format/onnx/survivors.h"

namespace dequant::format::onnx {
namespace {

/// Bytes of a protobuf message at most: 2 GiB - 1.
constexpr int64_t kLargestMessage = INT32_MAX;
/// Smaller tensors are in the model even when there is a data file.
constexpr int64_t kSmallestExternal = 1024;
/// The alignment of tensors in the data file, so that runtimes can map them.
constexpr int64_t kAlignment = 4096;
constexpr size_t kCopyBytes = size_t{1} << 20;
/// More bytes than any disk has. Sums with it do not overflow int64_t.
constexpr int64_t kMostBytes = int64_t{1} << 60;

int64_t aligned(int64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

/// Attempts to find a free name for the data file, as other processes may take a name before it is
/// used: more than there are conversions to one output at a time. The limit ends the search on a
/// file system that reports every name as taken.
constexpr int kRivals = 1000;

class Saver {
 public:
  Saver(Model& model, ExternalFiles& files, const Rewire& rewire, const Edit& edit,
        const std::deque<Fold>& folds, const std::string& path, bool external_data,
        const WriteOptions& options)
      : model_(model),
        files_(files),
        rewire_(rewire),
        edit_(edit),
        folds_(folds),
        path_(path),
        external_data_(external_data),
        options_(options),
        ranges_(folds.size()),
        scatter_(options.stream),
        done_(options.progress, 0),
        writes_(done_, options.stream.phases) {}

  Result<Saved> save() {
    DEQUANT_CHECK(survivors_.find(model_, files_, rewire_));
    DEQUANT_CHECK(check_sizes());
    if (options_.memory) return save_to_memory();
    bool external = external_data_ || survivors_.has_external();
    Pieces pieces;
    if (!external) {
      pieces = render();
      external = size_of(pieces) > kLargestMessage;
    }
    if (external) {
      lay_out();
      pieces = render();  // the name may still change, by a few bytes
      if (size_of(pieces) > kLargestMessage) {
        return failure(
            ErrorCode::unsupported,
            "the model would take {} bytes without its large initializers, over protobuf's 2 GiB",
            size_of(pieces));
      }
    }
    done_.begin(0, size_of(pieces) + data_bytes_);
    if (options_.share) return save_share(pieces);

    // Opened first, so that errors of writing are found before the work. Without a commit() both
    // files are removed.
    DEQUANT_TRY(OutputFile out, OutputFile::create(path_, options_.overwrite));
    DEQUANT_CHECK(check_room(path_, size_of(pieces) + data_bytes_));
    if (has_data_) {
      DEQUANT_TRY(OutputFile data, OutputFile::create_beside(out, location_));
      if (!options_.dry_run) DEQUANT_CHECK(fill_data(data));
      find_location();
      pieces = render();
      if (!options_.dry_run) DEQUANT_CHECK(write_both(data, out, pieces));
    } else if (!options_.dry_run) {
      DEQUANT_CHECK(write_model(out, pieces));
      const Stopwatch watch(options_.stream.phases, &Phases::flush);
      DEQUANT_CHECK(out.commit());
    }
    return Saved{size_of(pieces), has_data_ ? location_ : "", data_bytes_};
  }

 private:
  /// A part of the output. The data file has the first name: shares replace none.
  Result<Saved> save_share(const Pieces& pieces) {
    if (!has_data_) location_.clear();
    const auto write = [&]() -> Status {
      DEQUANT_TRY(OutputFile out, OutputFile::create(path_, Overwrite::replace));
      DEQUANT_CHECK(write_model(out, pieces));
      return out.commit();
    };
    ShareJob job(
        {model_, files_, folds_, ranges_, survivors_, rewire_.scopes(), location_, data_bytes_},
        pieces, write);
    DEQUANT_TRY(ShareReport report, dense::carry_out(job, path_, options_, options_.stream));
    return Saved{size_of(pieces), location_, data_bytes_, std::move(report)};
  }

  /// The whole model in one message, with the data of external files.
  Result<Saved> save_to_memory() {
    if (external_data_) {
      return failure(ErrorCode::invalid_argument,
                     "external-data: a model in memory has no data file beside it");
    }
    Edit edit = inserted();
    DEQUANT_CHECK(survivors_.include(model_.source, edit));
    const Pieces pieces = edit.render();
    const int64_t bytes = size_of(pieces);
    if (bytes > kLargestMessage) {
      return failure(ErrorCode::unsupported,
                     "{}: the float model has {} bytes, over protobuf's 2 GiB; converted to a file "
                     "it gets a data file beside it",
                     escaped(model_.path), bytes);
    }
    if (options_.dry_run) return Saved{bytes, "", 0};
    DEQUANT_TRY(const auto memory, options_.memory(bytes));
    OutputFile out = OutputFile::in_memory(memory);
    DEQUANT_CHECK(write_model(out, pieces));
    return Saved{bytes, "", 0};
  }

  Status check_sizes() const {
    int64_t sum = 0;
    const auto add = [&](int64_t bytes) -> Status {
      if (bytes <= kMostBytes - sum) {
        sum += bytes;
        return {};
      }
      return failure(ErrorCode::limit, "{}: over {} bytes of output", escaped(model_.path),
                     kMostBytes);
    };
    for (const Fold& f : folds_) DEQUANT_CHECK(add(f.bytes));
    for (const Survivor& s : survivors_.all()) DEQUANT_CHECK(add(s.bytes));
    return {};
  }

  bool needs_node(const Fold& f) const {
    // Functions have no initializers; before IR 4 initializers of a graph must be its inputs.
    return f.dequantization.graph->is_function || model_.ir_version < 4;
  }

  void lay_out() {
    location_ = data_name(path_, taken_);
    int64_t at = 0;
    const auto next_range = [&](int64_t bytes) {
      if (bytes == 0)
        return ExternalRange{location_, 0,
                             0};  // ONNX Runtime refuses any other offset of empty data
      const int64_t offset = aligned(at);
      at = offset + bytes;
      return ExternalRange{location_, offset, bytes};
    };
    for (size_t i = 0; i < folds_.size(); ++i) {
      if (folds_[i].bytes >= kSmallestExternal && !needs_node(folds_[i]))
        ranges_[i] = next_range(folds_[i].bytes);
    }
    for (Survivor& s : survivors_.all()) s.range = next_range(s.bytes);
    data_bytes_ = at;
    has_data_ = at > 0 || !survivors_.all().empty();  // even for empty tensors the file must exist
  }

  std::string data_path() const { return path_.substr(0, path_.find_last_of('/') + 1) + location_; }

  /// The edit with the results of the folds.
  Edit inserted() const {
    Edit edit = edit_;
    Substitutes made;
    for (size_t i = 0; i < folds_.size(); ++i) insert(edit, i, made);
    rewire_.substitute(edit, made);
    return edit;
  }

  Pieces render() const {
    Edit edit = inserted();
    if (has_data_) survivors_.refer(edit, location_);
    return edit.render();
  }

  /// Enters a constant in the edit, or nodes in place of a made node in `made`.
  void insert(Edit& edit, size_t i, Substitutes& made) const {
    const Fold& fold = folds_[i];
    const Dequantization& d = fold.dequantization;
    const Frame& frame = model_.frame(d.node->frame);
    const std::string_view output = d.node->output(0);
    const std::string_view name = fold.cast_to ? std::string_view(fold.constant) : output;
    const TensorType type{d.plan.output, d.shape()};
    const Computed data{i, fold.bytes};
    Pieces nodes;  // that replace the folded one
    if (needs_node(fold)) {
      const std::string_view label = fold.cast_to ? std::string_view() : d.node->name;
      nodes =
          field_of(frame.number(), constant_node(label, name, computed_tensor(name, type, data)));
    }
    if (fold.cast_to) {
      for (Piece& p :
           field_of(frame.number(), {cast_node(d.node->name, name, output, *fold.cast_to)}))
        nodes.push_back(std::move(p));
    }
    if (!nodes.empty() && rewire_.made(*d.node)) {
      made[d.node] = std::move(nodes);
    } else if (!nodes.empty()) {
      edit.replace(frame.parent, frame.whole, std::move(nodes));
    }
    if (needs_node(fold)) return;
    Pieces tensor;
    if (ranges_[i]) {
      ExternalRange range = *ranges_[i];
      range.location = location_;
      tensor = external_tensor(name, type, range);
    } else {
      tensor = computed_tensor(name, type, data);
    }
    edit.append(d.graph->frame, field_of(field::graph::initializer, std::move(tensor)));
  }

  /// Finds the first free name for the data file, beginning with the present name.
  void find_location() {
    while (is_taken(data_path())) location_ = data_name(path_, ++taken_);
  }

  /// Writes the model and gives both files their names. Where another process has taken the name of
  /// the data file meanwhile, the model is written again with another name.
  Status write_both(OutputFile& data, OutputFile& out, Pieces& pieces) {
    for (int rivals = 0; rivals < kRivals; ++rivals) {
      data.rename(location_);
      DEQUANT_CHECK(write_model(out, pieces));
      const Stopwatch watch(options_.stream.phases, &Phases::flush);
      DEQUANT_TRY(const bool done, OutputFile::commit_both(data, out));
      if (done) return {};
      DEQUANT_CHECK(out.clear());
      location_ = data_name(path_, ++taken_);
      find_location();
      pieces = render();
    }
    return failure(ErrorCode::io, "no name for the data file of {}: {} were taken", escaped(path_),
                   kRivals);
  }

  Status fill_data(OutputFile& out) {
    DEQUANT_CHECK(reserve(out, data_bytes_));
    for (size_t i = 0; i < folds_.size(); ++i) {
      if (!ranges_[i]) continue;
      DEQUANT_CHECK(pad(out, ranges_[i]->offset));
      DEQUANT_CHECK(compute(out, i));
    }
    for (const Survivor& s : survivors_.all()) {
      if (s.bytes == 0) continue;
      DEQUANT_CHECK(pad(out, s.range.offset));
      DEQUANT_CHECK(copy(out, s));
    }
    const Stopwatch watch(options_.stream.phases, &Phases::flush);
    return out.flush();
  }

  Status pad(OutputFile& out, int64_t offset) {
    const std::vector<std::byte> zeros(static_cast<size_t>(offset - out.size()));
    return out.write(zeros);
  }

  Status compute(OutputFile& out, size_t i) {
    const Dequantization& d = folds_[i].dequantization;
    const int64_t begin = out.leave(folds_[i].bytes);
    const std::string_view name = d.node->output(0).c_str();
    auto status = scatter(d, counted(options_.stream, name, d.plan.output, writes_.to(out, begin)));
    if (done_.stopped()) return *done_.stopped();
    if (status || status.error().code == ErrorCode::io) return status;  // it names the file
    return in(fmt::format("{}: node {}", escaped(model_.path), escaped(d.node->label())),
              std::move(status).error());
  }

  Status scatter(const Dequantization& d, const OffsetSink& sink) {
    DEQUANT_TRY(RecipeReaders readers,
                open_inputs(model_, files_, d, parameter_memory(options_.stream)));
    return scatter_.run(d.plan, std::move(readers), sink);
  }

  Status copy(OutputFile& out, const InputFile& from, int64_t offset, int64_t size) {
    buffer_.resize(kCopyBytes);
    while (size > 0) {
      const auto part = std::span(buffer_).first(
          static_cast<size_t>(std::min<int64_t>(size, static_cast<int64_t>(kCopyBytes))));
      {
        const Stopwatch watch(options_.stream.phases, &Phases::read);
        DEQUANT_CHECK(from.read(offset, part));
      }
      {
        const Stopwatch watch(options_.stream.phases, &Phases::write);
        DEQUANT_CHECK(out.write(part));
      }
      offset += static_cast<int64_t>(part.size());
      size -= static_cast<int64_t>(part.size());
      DEQUANT_CHECK(done_.add(static_cast<int64_t>(part.size())));
    }
    return {};
  }

  Status copy(OutputFile& out, const Survivor& survivor) {
    const External& external = *survivor.tensor->external;
    DEQUANT_TRY(const auto file, files_.open(external.location.str()));
    DEQUANT_CHECK(copy(out, *file, external.offset, survivor.bytes));
    return file->check_unchanged();
  }

  Status write_model(OutputFile& out, const Pieces& pieces) {
    done_.begin(data_bytes_, size_of(pieces) + data_bytes_);
    DEQUANT_CHECK(reserve(out, size_of(pieces)));
    for (const Piece& p : pieces) {
      if (const auto* span = std::get_if<Span>(&p)) {
        DEQUANT_CHECK(copy(out, model_.source.file(), span->begin, span->size()));
      } else if (const auto* text = std::get_if<std::string>(&p)) {
        DEQUANT_CHECK(out.write(*text));
      } else if (const auto* beside = std::get_if<Beside>(&p)) {
        DEQUANT_CHECK(copy(out, survivors_.all()[beside->index]));
      } else {
        DEQUANT_CHECK(compute(out, std::get<Computed>(p).index));
      }
    }
    if (out.size() != size_of(pieces)) {
      return failure(ErrorCode::malformed, "{} changed while being read", escaped(model_.path));
    }
    DEQUANT_CHECK(model_.source.file().check_unchanged());
    {
      const Stopwatch watch(options_.stream.phases, &Phases::flush);
      DEQUANT_CHECK(out.flush());
    }
    return done_.add_rest();  // the bytes around the tensors: the last call of progress
  }

  /// Allocates disk space. Some file systems do so by writing zeros, which takes as long as
  /// writing.
  Status reserve(OutputFile& out, int64_t bytes) {
    const Stopwatch watch(options_.stream.phases, &Phases::write);
    return out.reserve(bytes);
  }

  Model& model_;
  ExternalFiles& files_;
  const Rewire& rewire_;
  const Edit& edit_;
  const std::deque<Fold>& folds_;
  const std::string& path_;
  const bool external_data_;
  const WriteOptions& options_;
  std::vector<std::optional<ExternalRange>> ranges_;
  Survivors survivors_;
  std::string location_;
  int taken_ = 0;  ///< names of the data file that are taken
  int64_t data_bytes_ = 0;
  bool has_data_ = false;
  Scatter scatter_;
  dense::Done done_;
  dense::Writes writes_;
  std::vector<std::byte> buffer_;
};

}  // namespace

std::string data_name(const std::string& path, int taken) {
  const std::string base = path.substr(path.find_last_of('/') + 1);
  // The model refers to the file by its name, which must be a valid location.
  const bool plain = escaped(base) == base && check_location(base);
  const std::string first = (plain ? base : "model.onnx") + ".data";
  return taken == 0 ? first : fmt::format("{}.{}", first, taken);
}

Result<Saved> save(Model& model, ExternalFiles& files, const Rewire& rewire, const Edit& edit,
                   const std::deque<Fold>& folds, const std::string& path, bool external_data,
                   const WriteOptions& options) {
  return Saver(model, files, rewire, edit, folds, path, external_data, options).save();
}

}  // namespace dequant::format::onnx
