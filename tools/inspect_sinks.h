// The reports of `dequant inspect` on standard output: tables, or one JSON object.
#pragma once

#include "format/model/inspect.h"
#include "tools/table.h"

namespace dequant::tools {

/// Prints tables on standard output in end(), when all rows are known.
class InspectText : public format::InspectSink {
 public:
  explicit InspectText(const format::Words& words) : words_(words) {}

  Status begin() override { return {}; }
  Status tensor(const format::TensorInfo& tensor) override;
  Status other(const format::OtherTensor& other) override;
  void end(const format::InspectTotals& totals) const;

 private:
  const format::Words& words_;
  Table dense_{{{words_.name_title},
                {words_.source_title},
                {"type"},
                {"shape"},
                {"scale"},
                {"granularity"},
                {"scales"},
                {"zero points"},
                {"values"},
                {"bytes", Align::right},
                {"as float", Align::right}}};
  Table left_{{{words_.name_title},
               {words_.source_title},
               {"type"},
               {"scales"},
               {"zero points"},
               {"covers"},
               {words_.left_because}}};
  Table others_{{{"name"}, {"type"}, {"shape"}, {"bytes", Align::right}, {"read by"}}};
};

/// Prints a JSON object on standard output. Each entry is printed when its tensor is found; end()
/// completes the object.
class InspectJson : public format::InspectSink {
 public:
  explicit InspectJson(const format::ModelFile& file) : file_(file), words_(file.format().words) {}

  Status begin() override;
  Status tensor(const format::TensorInfo& tensor) override;
  Status other(const format::OtherTensor& other) override;
  void end(const format::InspectTotals& totals);

 private:
  void end_tensors();

  const format::ModelFile& file_;
  const format::Words& words_;
  bool in_others_ = false;  ///< the array of tensors is complete
  bool first_ = true;       ///< no entry of the present array has been printed
};

/// The nodes that read a stored tensor, the first few by name: "MatMulNBits m0 (input 1), ... and 9
/// more".
std::string readers_text(const format::OtherTensor& tensor);

}  // namespace dequant::tools
