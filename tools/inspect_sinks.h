// What `dequant inspect` prints: tables, or one JSON object.
#pragma once

#include "format/onnx/inspect.h"
#include "tools/table.h"

namespace dequant::tools {

/// Tables on standard output, once all rows are known.
class InspectText : public format::onnx::InspectSink {
 public:
  Status begin(const format::onnx::InspectHead&) override { return {}; }
  Status node(const format::onnx::DequantizeInfo& node) override;
  Status other(const format::onnx::OtherConstant& constant,
               const format::onnx::Readers& readers) override;
  void end(const format::onnx::InspectTotals& totals) const;

 private:
  Table constant_{{{"output"},
                   {"x"},
                   {"type"},
                   {"shape"},
                   {"scale"},
                   {"granularity"},
                   {"scales"},
                   {"zero points"},
                   {"values"},
                   {"bytes", Align::right},
                   {"as float", Align::right}}};
  Table open_{{{"output"},
               {"x"},
               {"type"},
               {"scales"},
               {"zero points"},
               {"covers"},
               {"not constant because"}}};
  Table others_{{{"name"}, {"type"}, {"shape"}, {"bytes", Align::right}, {"read by"}}};
};

/// One JSON object on standard output, piece by piece as it is found: whole once end() is done.
class InspectJson : public format::onnx::InspectSink {
 public:
  Status begin(const format::onnx::InspectHead& head) override;
  Status node(const format::onnx::DequantizeInfo& node) override;
  Status other(const format::onnx::OtherConstant& constant,
               const format::onnx::Readers& readers) override;
  void end(const format::onnx::InspectTotals& totals);

 private:
  void end_nodes();

  bool in_others_ = false;  ///< the array of nodes is closed
  bool first_ = true;       ///< of the array that is open
};

/// "MatMulNBits m0 (input 1), ... and 9 more": who reads a constant, the first few by name.
std::string readers_text(const format::onnx::Readers& readers);

}  // namespace dequant::tools
