// What `dequant inspect` prints: tables, or one JSON object.
#pragma once

#include "format/model/inspect.h"
#include "tools/table.h"

namespace dequant::tools {

/// Tables on standard output, once all rows are known.
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

/// One JSON object on standard output, piece by piece as it is found: whole once end() is done.
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
  bool in_others_ = false;  ///< the array of tensors is closed
  bool first_ = true;       ///< of the array that is open
};

/// "MatMulNBits m0 (input 1), ... and 9 more": who reads a stored tensor, the first few by name.
std::string readers_text(const format::OtherTensor& tensor);

}  // namespace dequant::tools
