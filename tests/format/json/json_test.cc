// Texts that are not JSON.
#include <gtest/gtest.h>

#include "format/json/json.h"

namespace dequant::format {
namespace {

using std::string_view_literals::operator""sv;

TEST(Json, AZeroByteDoesNotEndTheText) {
  for (const std::string_view text : {"{}\0"sv, "{}\0 {"sv, "[1]\n\0[2]"sv, "1\0"sv}) {
    const std::string where = "byte " + std::to_string(text.find('\0'));
    for (const std::string& message :
         {parse_json(text).error().message, parse_ordered_json(text).error().message,
          parse_python_json(text).error().message}) {
      EXPECT_NE(message.find(where), message.npos) << message;
      EXPECT_NE(message.find("\\x00"), message.npos) << message;
    }
  }
  EXPECT_TRUE(parse_json("[1]\n"));
  EXPECT_EQ(*parse_json(R"("\u0000")"), "\0"sv);
}

}  // namespace
}  // namespace dequant::format
