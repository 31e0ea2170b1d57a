// The head of the page of `dequant inspect --html`: style sheets, script, and security policy.
#include <fmt/format.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>

#include <array>

#include "dequant/version.h"
#include "tools/inspect_page.h"
#include "tools/page/embedded.h"

namespace dequant::tools {
namespace {

/// The SHA-256 of a script in base64. The Content-Security-Policy has it, so that browsers run no
/// other script.
std::string script_hash(std::string_view script) {
  sha256_ctx context;
  sha256_init(&context);
  sha256_update(&context, script.size(), reinterpret_cast<const uint8_t*>(script.data()));
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
  sha256_digest(&context, digest.size(), digest.data());
  std::string out(BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE), '=');
  base64_encode_raw(out.data(), digest.size(), digest.data());
  return out;
}

}  // namespace

std::string page_head(const std::string& title) {
  // Each script starts on a new line; that newline is part of the script and of its hash.
  const std::string style = fmt::format("\n{}", page::style_css);
  const std::string without_script = fmt::format("\n{}", page::without_script_css);
  const std::string script = fmt::format("\n{}", page::script_js);
  return fmt::format(page::head_html, fmt::arg("script_hash", script_hash(script)),
                     fmt::arg("version", DEQUANT_VERSION), fmt::arg("title", title),
                     fmt::arg("style", style), fmt::arg("without_script", without_script),
                     fmt::arg("script", script));
}

}  // namespace dequant::tools
