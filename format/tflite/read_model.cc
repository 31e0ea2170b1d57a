// Reading the structure of a TFLite model.
#include <algorithm>
#include <unordered_map>

#include "format/io/errors.h"
#include "format/safetensors/header.h"
#include "format/tflite/field_numbers.h"
#include "format/tflite/model.h"

namespace dequant::format::tflite {
namespace {

/// The number of the operator DEQUANTIZE.
constexpr int32_t kDequantize = 6;

/// Calls visit(i, table) for each table of a vector; errors begin with "what i".
template <class Visit>
Status for_each(const Table& table, uint16_t field, const char* what, Visit visit) {
  const auto all = table.tables(field);
  if (!all) return in(what, all.error());
  for (size_t i = 0; i < all->size(); ++i) {
    const auto one = all->at(i);
    const Status status = one ? visit(i, *one) : Status(one.error());
    if (!status) return in(fmt::format("{} {}", what, i), status.error());
  }
  return {};
}

class Reader {
 public:
  Reader(const InputFile& file, Model& model) : file_(file), model_(model) {}

  Status read() {
    DEQUANT_TRY(const Table root, model_.flatbuffer->root(kIdentifier));
    DEQUANT_TRY(const uint32_t version, root.number<uint32_t>(field::model::version, 0));
    if (version != kVersion) {
      return failure(ErrorCode::unsupported, "version {} of the schema, where {} is known", version,
                     kVersion);
    }
    DEQUANT_TRY(model_.description, root.text(field::model::description));
    DEQUANT_CHECK(read_buffers(root));
    DEQUANT_CHECK(read_operator_codes(root));
    DEQUANT_CHECK(for_each(root, field::model::subgraphs, "subgraph",
                           [&](size_t, const Table& table) { return read_subgraph(table); }));
    DEQUANT_CHECK(for_each(root, field::model::metadata, "metadata",
                           [&](size_t, const Table& table) { return read_metadata(table); }));
    return check_outside();
  }

 private:
  Status read_buffers(const Table& root) {
    return for_each(
        root, field::model::buffers, "buffer", [&](size_t i, const Table& table) -> Status {
          DEQUANT_TRY(Bytes data, table.bytes(field::buffer::data));
          DEQUANT_TRY(const uint64_t offset, table.number<uint64_t>(field::buffer::offset, 0));
          DEQUANT_TRY(const uint64_t size, table.number<uint64_t>(field::buffer::size, 0));
          // Writers put 0 or 1 where the data are in the flatbuffer.
          if (offset > 1) {
            DEQUANT_TRY(data, outside(data, offset, size));
            outside_.push_back(i);
          }
          model_.buffers.push_back(data);
          return model_.flatbuffer->take(sizeof(Bytes));
        });
  }

  /// Data at an offset of the file, behind the flatbuffer.
  Result<Bytes> outside(const Bytes& inside, uint64_t offset, uint64_t size) const {
    if (inside.size > 0) {
      return failure(ErrorCode::malformed, "its data are in the flatbuffer and at offset {}",
                     offset);
    }
    const auto file_size = static_cast<uint64_t>(file_.size());
    if (offset > file_size || size > file_size - offset) {
      return failure(ErrorCode::malformed,
                     "its {} bytes at offset {} are not within the file of {} bytes", size, offset,
                     file_size);
    }
    return Bytes{static_cast<int64_t>(offset), static_cast<int64_t>(size)};
  }

  /// Checked in the end, when it is known what the flatbuffer has.
  Status check_outside() const {
    const int64_t end = model_.flatbuffer->end();
    for (const size_t i : outside_) {
      const Bytes& data = model_.buffers[i];
      if (data.size > 0 && data.offset < end) {
        return failure(ErrorCode::malformed,
                       "buffer {}: its data at offset {} overlap the flatbuffer, which ends at {}",
                       i, data.offset, end);
      }
    }
    return {};
  }

  Status read_operator_codes(const Table& root) {
    return for_each(
        root, field::model::operator_codes, "operator code",
        [&](size_t, const Table& table) -> Status {
          DEQUANT_TRY(const int8_t old,
                      table.number<int8_t>(field::operator_code::deprecated_builtin_code, 0));
          DEQUANT_TRY(const int32_t code,
                      table.number<int32_t>(field::operator_code::builtin_code, 0));
          codes_.push_back(std::max<int32_t>(old, code));
          DEQUANT_TRY(const std::string_view custom, table.text(field::operator_code::custom_code));
          if (custom == kRotation) model_.has_rotation = true;
          return {};
        });
  }

  Status read_metadata(const Table& table) {
    DEQUANT_TRY(const std::string_view name, table.text(field::metadata::name));
    DEQUANT_TRY(const uint32_t buffer, table.number<uint32_t>(field::metadata::buffer, 0));
    model_.metadata.push_back(name);
    DEQUANT_CHECK(model_.flatbuffer->take(sizeof name));
    return check_buffer(buffer);
  }

  Status check_buffer(uint32_t buffer) const {
    if (buffer < model_.buffers.size()) return {};
    return failure(ErrorCode::malformed, "buffer {} of {} buffers", buffer, model_.buffers.size());
  }

  Status read_subgraph(const Table& table) {
    DEQUANT_CHECK(model_.flatbuffer->take(sizeof(Subgraph)));
    Subgraph& graph = model_.subgraphs.emplace_back();
    DEQUANT_TRY(graph.name, table.text(field::subgraph::name));
    DEQUANT_CHECK(for_each(table, field::subgraph::tensors, "tensor",
                           [&](size_t, const Table& one) { return read_tensor(one, graph); }));
    for (const uint16_t field : {field::subgraph::inputs, field::subgraph::outputs}) {
      DEQUANT_TRY(const auto indices, table.numbers<int32_t>(field));
      DEQUANT_CHECK(check_indices(indices, graph));
    }
    return for_each(table, field::subgraph::operators, "operator",
                    [&](size_t, const Table& one) { return read_operator(one, graph); });
  }

  Status read_tensor(const Table& table, Subgraph& graph) {
    DEQUANT_CHECK(model_.flatbuffer->take(sizeof(Tensor)));
    Tensor& tensor = graph.tensors.emplace_back();
    DEQUANT_TRY(tensor.name, table.text(field::tensor::name));
    const auto named = [&](Status status) {
      return status ? status : Status(in(escaped(tensor.name), std::move(status).error()));
    };
    DEQUANT_TRY(tensor.shape, table.numbers<int32_t>(field::tensor::shape));
    DEQUANT_TRY(tensor.type, table.number<uint8_t>(field::tensor::type, 0));
    DEQUANT_TRY(tensor.buffer, table.number<uint32_t>(field::tensor::buffer, 0));
    DEQUANT_TRY(tensor.external_buffer, table.number<uint32_t>(field::tensor::external_buffer, 0));
    tensor.sparse = table.has(field::tensor::sparsity);
    DEQUANT_CHECK(named(check_buffer(tensor.buffer)));
    if (tensor.shape.size() > safetensors::kMaxRank) {
      return named(failure(ErrorCode::limit, "{} dimensions, more than {}", tensor.shape.size(),
                           safetensors::kMaxRank));
    }
    DEQUANT_TRY(const auto quantization, table.table(field::tensor::quantization));
    return quantization ? named(read_quantization(*quantization, tensor.quantization)) : Status();
  }

  static Status read_quantization(const Table& table, Quantization& q) {
    DEQUANT_TRY(q.scale, table.numbers<float>(field::quantization::scale));
    DEQUANT_TRY(q.zero_point, table.numbers<int64_t>(field::quantization::zero_point));
    DEQUANT_TRY(q.dimension, table.number<int32_t>(field::quantization::quantized_dimension, 0));
    DEQUANT_TRY(q.details, table.number<uint8_t>(field::quantization::details_type, 0));
    if (q.details != field::details::blockwise) return {};
    DEQUANT_TRY(const auto details, table.table(field::quantization::details));
    if (!details) return failure(ErrorCode::malformed, "blockwise quantization without its table");
    Blockwise& b = q.blockwise;
    DEQUANT_TRY(b.scales, details->number<int32_t>(field::blockwise::scales, 0));
    DEQUANT_TRY(b.zero_points, details->number<int32_t>(field::blockwise::zero_points, 0));
    DEQUANT_TRY(b.block_size, details->number<int32_t>(field::blockwise::block_size, 0));
    DEQUANT_TRY(b.block_shape, details->numbers<int32_t>(field::blockwise::block_shape));
    return {};
  }

  /// -1 stands for an optional tensor that is not there.
  Status check_indices(const Numbers<int32_t>& indices, const Subgraph& graph) {
    const auto tensors = static_cast<int64_t>(graph.tensors.size());
    // Many operators may have one long vector, which is read once.
    const auto [known, is_new] = indices_.try_emplace(indices.offset());
    auto& [least, greatest] = known->second;
    for (size_t i = 0; is_new && i < indices.size(); ++i) {
      least = std::min(least, indices[i]);
      greatest = std::max(greatest, indices[i]);
    }
    const int32_t wrong = least < -1 ? least : greatest;
    if (least >= -1 && greatest < tensors) return {};
    return failure(ErrorCode::malformed, "tensor {} of {} tensors", wrong, tensors);
  }

  Status read_operator(const Table& table, Subgraph& graph) {
    DEQUANT_TRY(const uint32_t code, table.number<uint32_t>(field::operation::opcode_index, 0));
    if (code >= codes_.size())
      return failure(ErrorCode::malformed, "operator code {} of {}", code, codes_.size());
    DEQUANT_TRY(const auto inputs, table.numbers<int32_t>(field::operation::inputs));
    DEQUANT_TRY(const auto outputs, table.numbers<int32_t>(field::operation::outputs));
    DEQUANT_CHECK(check_indices(inputs, graph));
    DEQUANT_CHECK(check_indices(outputs, graph));
    ++graph.operators;
    if (codes_[code] != kDequantize) return {};
    if (inputs.size() != 1 || outputs.size() != 1 || inputs[0] < 0 || outputs[0] < 0 ||
        inputs[0] == outputs[0]) {
      return failure(ErrorCode::malformed,
                     "a DEQUANTIZE of {} inputs and {} outputs, or of one tensor to itself",
                     inputs.size(), outputs.size());
    }
    return {};
  }

  struct Indices {
    int32_t least = -1;
    int32_t greatest = -1;
  };

  const InputFile& file_;
  Model& model_;
  std::vector<size_t> outside_;  ///< the buffers whose data are behind the flatbuffer
  std::vector<int32_t> codes_;   ///< of operators
  /// The least and the greatest index of vectors, by offsets in the file.
  std::unordered_map<int64_t, Indices> indices_;
};

}  // namespace

Result<Model> read_model(const InputFile& file, int64_t memory) {
  Model model;
  DEQUANT_TRY(model.flatbuffer, Flatbuffer::open(file, memory));
  DEQUANT_CHECK(Reader(file, model).read());
  return model;
}

}  // namespace dequant::format::tflite
