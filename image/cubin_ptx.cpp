#include "image/cubin_ptx.h"

#include <optional>

#include "image/compiled_ptx.h"
#include "image/debug_lines.h"
#include "image/debug_ptx.h"
#include "image/fatbinary.h"
#include "image/targets.h"
#include "support/text.h"

namespace lynxpp::image {
namespace {

/// Stored texts that were linked are separated by a zero byte.
std::vector<std::string> texts_in(const std::string& remembered) {
  std::vector<std::string> texts;
  for (const std::string_view text : split(remembered, '\0')) texts.emplace_back(text);
  return texts;
}

CubinPtx from_debug_section(Bytes cubin, const PtxUse& use) {
  const std::string unusable = "its cubin's debug section contains PTX that cannot be used: ";
  auto found = debug_ptx(cubin);
  if (!found) return {{}, PtxOrigin::debug_section, unusable + found.error().diagnostics.front().message};
  if (found->modules.empty()) return {};
  for (const std::string& text : found->modules) {
    if (!target_runs_on(text, use.sm))
      return {{}, PtxOrigin::debug_section, unusable + "its .target does not match the device"};
  }
  if (found->forbids_contraction && use.contracts) {
    return {{},
            PtxOrigin::debug_section,
            unusable + "it was assembled with --fmad=false, which the driver's compiler does not support"};
  }
  add_source_lines(cubin, found->modules);
  return {std::move(found->modules), PtxOrigin::debug_section, {}};
}

}  // namespace

std::string_view describe(PtxOrigin origin) {
  switch (origin) {
    case PtxOrigin::image: return {};
    case PtxOrigin::store: return "the PTX store";
    case PtxOrigin::compiler_cache: return "the compiler's cache";
    case PtxOrigin::debug_section: return "the debug section of the cubin";
  }
  return {};
}

CubinPtx ptx_of_cubin(Bytes cubin, const PtxUse& use) {
  if (const auto text = remembered_ptx(cubin)) return {texts_in(*text), PtxOrigin::store, {}};
  // Compilers with such caches produce one cubin per kernel.
  constexpr std::size_t most_functions = 8;
  const std::vector<std::string> functions = functions_of(cubin);
  for (std::size_t i = 0; i < functions.size() && functions.size() <= most_functions; ++i) {
    if (auto text = ptx_in_triton_cache(cubin, functions[i]))
      return {{std::move(*text)}, PtxOrigin::compiler_cache, {}};
  }
  return from_debug_section(cubin, use);
}

Result<std::vector<CubinPtx>> ptx_of_machine_code(Bytes image) {
  const auto entries = list_entries(image);
  if (!entries) return entries.error();
  std::vector<CubinPtx> found;
  for (const std::span<const Entry> container : by_container(*entries)) {
    const Entry* newest = nullptr;
    bool has_ptx = false;
    for (const Entry& entry : container) {
      has_ptx |= entry.kind == EntryKind::ptx;
      if (entry.kind == EntryKind::cubin && (newest == nullptr || entry.sm > newest->sm)) newest = &entry;
    }
    if (has_ptx || newest == nullptr) continue;
    const auto machine_code = content(*newest);
    if (!machine_code) return machine_code.error();
    found.push_back(ptx_of_cubin(std::as_bytes(std::span(*machine_code)), {.sm = 0, .contracts = false}));
  }
  return found;
}

}  // namespace lynxpp::image
