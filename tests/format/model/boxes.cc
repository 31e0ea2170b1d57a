// A format of model files that exists for tests only.
#include "format/model/boxes.h"

#include <nlohmann/json.hpp>

#include "format/io/errors.h"
#include "format/io/file.h"
#include "format/model/model_file.h"

namespace dequant::testing {
namespace {

using namespace format;
using nlohmann::ordered_json;

constexpr std::string_view kMark = "BOXES 1\n";
constexpr std::string_view kOptions[] = {"strict"};

/// Bytes of a file as they lie.
class FileReader : public StoredReader {
 public:
  FileReader(const InputFile& file, int64_t at, Element element, int64_t count)
      : StoredReader(element, count), file_(file), at_(at) {}

  bool seekable() const override { return true; }
  Status read_at(Range elements, std::span<std::byte> out) const override {
    DEQUANT_TRY(const int64_t before, packed_bytes(element_, elements.begin));
    return file_.read(at_ + before, out);
  }
  Status finish() override { return file_.check_unchanged(); }

 private:
  Status read_next(Range elements, std::span<std::byte> out) override {
    return read_at(elements, out);
  }
  std::string label() const override { return "a box"; }

  const InputFile& file_;
  const int64_t at_;
};

/// One entry of the list, with what views of it look at.
struct Box {
  std::string name;
  std::string left;
  std::string scale_name;
  std::vector<int64_t> shape;
  std::vector<int64_t> scale_shape;
  DenseTensor tensor;
};

class BoxesFile : public ModelFile {
 public:
  static Result<std::unique_ptr<ModelFile>> open(const std::string& path, const OpenOptions&) {
    DEQUANT_TRY(InputFile file, InputFile::open(path));
    std::unique_ptr<BoxesFile> boxes(new BoxesFile(path, std::move(file)));
    DEQUANT_CHECK(boxes->read_list());
    return std::unique_ptr<ModelFile>(std::move(boxes));
  }

  ordered_json facts() const override { return {{"version", 1}}; }
  Headline headline() const override { return {"Boxes", "1", "version"}; }

  Status visit(const TensorVisitor& visitor) override {
    for (const auto& box : boxes_) {
      if (!box->left.empty()) {
        LeftTensor left;
        static_cast<TensorFacts&>(left) = box->tensor;
        left.reason = box->left;
        DEQUANT_CHECK(visitor.left(left));
      } else if (box->tensor.recipe) {
        DEQUANT_CHECK(visitor.dense(box->tensor));
      }
    }
    return {};
  }

  Status visit_floats(const TensorVisitor& visitor) override {
    for (const auto& box : boxes_) {
      if (box->left.empty() && !box->tensor.recipe) DEQUANT_CHECK(visitor.dense(box->tensor));
    }
    return {};
  }

  Result<std::optional<DenseTensor>> stored(const std::string& name) override {
    for (const auto& box : boxes_) {
      if (box->name == name && box->left.empty() && !box->tensor.recipe)
        return std::optional(box->tensor);
    }
    return std::optional<DenseTensor>();
  }

  Result<std::unique_ptr<StoredReader>> open(const StoredTensor& tensor, int64_t) override {
    DEQUANT_TRY(const int64_t count, element_count(tensor.type.shape));
    return std::unique_ptr<StoredReader>(
        new FileReader(file_, tensor.location->offset, tensor.type.element, count));
  }

  Status check_output(const std::string& output) const override {
    if (!identity_of(output).same_file(file_.identity())) return {};
    return failure(ErrorCode::io, "{} is the input itself", escaped(output));
  }

  Result<ConvertReport> write(const std::string& output, const WriteOptions& options) override {
    ConvertReport report;
    ordered_json list = ordered_json::array();
    std::string data;
    for (const auto& box : boxes_) {
      DenseTensor tensor = box->tensor;
      const bool wanted = options.selection.wants({box->name.c_str()});
      if (!box->left.empty() || (tensor.recipe && !wanted)) {
        report.left.push_back({box->name, "", "", box->name, wanted ? box->left : "not selected"});
        continue;
      }
      if (tensor.recipe && options.dtype) tensor.recipe->plan.output = *options.dtype;
      const TensorType type = tensor.type();
      list.push_back({{"name", box->name},
                      {"type", name(type.element)},
                      {"shape", box->shape},
                      {"at", data.size()}});
      const size_t before = data.size();
      DEQUANT_CHECK(stream(*this, tensor, options.stream, [&](std::span<const std::byte> part) {
        data.append(reinterpret_cast<const char*>(part.data()), part.size());
        return Status();
      }));
      if (!tensor.recipe) continue;
      const Recipe& recipe = *tensor.recipe;
      report.converted.push_back({"", "box", box->name, box->name, box->name, recipe.plan,
                                  recipe.axis, box->shape, tensor.stored_bytes(),
                                  tensor.stored_bytes(),
                                  static_cast<int64_t>(data.size() - before)});
    }
    if (options.require_float && !report.left.empty())
      return failure(ErrorCode::unsupported, "{}: still quantized", escaped(path()));
    const std::string text = std::string(kMark) + list.dump() + "\n" + data;
    report.bytes_in = file_.size();
    report.bytes_out = static_cast<int64_t>(text.size());
    if (options.dry_run) return report;
    DEQUANT_TRY(OutputFile out, OutputFile::create(output, options.overwrite));
    DEQUANT_CHECK(out.write(text));
    if (options.progress) DEQUANT_CHECK(options.progress(report.bytes_out, report.bytes_out));
    DEQUANT_CHECK(out.commit());
    return report;
  }

 private:
  BoxesFile(const std::string& path, InputFile file)
      : ModelFile(kBoxes, path), file_(std::move(file)) {}

  Status read_list() {
    std::string text(static_cast<size_t>(file_.size()), '\0');
    DEQUANT_CHECK(file_.read(0, std::as_writable_bytes(std::span(text))));
    const size_t end = text.find('\n', kMark.size());
    if (end == text.npos) return failure(ErrorCode::malformed, "{}: no list", escaped(path()));
    start_ = static_cast<int64_t>(end) + 1;
    const auto list =
        ordered_json::parse(text.substr(kMark.size(), end - kMark.size()), nullptr, false);
    if (!list.is_array()) return failure(ErrorCode::malformed, "{}: no list", escaped(path()));
    for (const auto& entry : list) DEQUANT_CHECK(add(entry));
    return {};
  }

  Status add(const ordered_json& entry) {
    auto box = std::make_unique<Box>();
    box->name = entry.at("name");
    box->left = entry.value("left", "");
    box->shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto element = element_from_name(entry.at("type").get<std::string>());
    if (!element) return failure(ErrorCode::unsupported, "{}: type", escaped(box->name));
    DenseTensor& tensor = box->tensor;
    tensor.name = tensor.source = box->name;
    tensor.scheme = "box";
    tensor.shape = box->shape;
    DEQUANT_TRY(tensor.stored, stored_tensor(box->name, {*element, box->shape}, entry.at("at")));
    if (entry.contains("scale")) DEQUANT_CHECK(add_recipe(entry, *box));
    boxes_.push_back(std::move(box));
    return {};
  }

  Result<StoredTensor> stored_tensor(std::string_view name, TensorType type, int64_t at) {
    DEQUANT_TRY(const int64_t count, element_count(type.shape));
    DEQUANT_TRY(const int64_t bytes, packed_bytes(type.element, count));
    if (start_ + at + bytes > file_.size())
      return failure(ErrorCode::malformed, "{}: beyond the end of the file", escaped(name));
    // Addresses of what is in no two places: bytes of the file.
    const void* identity = reinterpret_cast<const void*>(start_ + at);
    return StoredTensor{name, type, bytes, Location{{}, start_ + at, bytes}, identity, nullptr};
  }

  Status add_recipe(const ordered_json& entry, Box& box) {
    const ordered_json& scale = entry.at("scale");
    Recipe& recipe = box.tensor.recipe.emplace();
    Plan& plan = recipe.plan;
    plan.input = box.tensor.stored.type.element;
    plan.scale = *element_from_name(scale.at("type").get<std::string>());
    plan.inner = 1;
    for (const int64_t size : box.shape) plan.inner *= size;
    if (entry.contains("axis")) {
      const size_t axis = entry.at("axis");
      recipe.axis = static_cast<int64_t>(axis);
      plan.granularity = Granularity::per_axis;
      plan.inner = 1;
      plan.axis = box.shape[axis];
      for (size_t i = 0; i < axis; ++i) plan.outer *= box.shape[i];
      for (size_t i = axis + 1; i < box.shape.size(); ++i) plan.inner *= box.shape[i];
      box.scale_shape = {plan.axis};
    }
    box.scale_name = box.name + ".scale";
    DEQUANT_TRY(recipe.scale,
                stored_tensor(box.scale_name, {plan.scale, box.scale_shape}, scale.at("at")));
    if (!entry.contains("zero_point")) return {};
    plan.has_zero_point = true;
    DEQUANT_TRY(recipe.zero_point,
                stored_tensor("", {plan.input, box.scale_shape}, entry.at("zero_point").at("at")));
    return {};
  }

  InputFile file_;
  int64_t start_ = 0;  ///< of the data
  std::vector<std::unique_ptr<Box>> boxes_;
};

}  // namespace

const Format kBoxes{"boxes",
                    "boxes",
                    {},
                    kOptions,
                    [](const Probe& probe) { return probe.head.starts_with(kMark); },
                    &BoxesFile::open};

}  // namespace dequant::testing
