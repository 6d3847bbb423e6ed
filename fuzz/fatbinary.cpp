// Processes any bytes as a program image and as a cubin: lists the entries, decompresses those that claim to
// be PTX, and searches machine code for the PTX that it contains.
#include <cstddef>
#include <cstdint>
#include <span>

#include "image/debug_lines.h"
#include "image/debug_ptx.h"
#include "image/device_code.h"
#include "image/fatbinary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The code under test allocates no memory merely because a header claims a size; this bound keeps the
  // fuzzer's memory small.
  constexpr std::uint64_t largest_content = 1U << 24;
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)lynxpp::image::compiled_from(bytes);
  (void)lynxpp::image::functions_of(bytes);
  if (auto found = lynxpp::image::debug_ptx(bytes)) {
    lynxpp::image::add_source_lines(bytes, found->modules);
    for (const std::string& text : found->modules) (void)lynxpp::image::target_runs_on(text, 90);
  }
  const auto entries = lynxpp::image::list_entries(bytes);
  if (!entries) return 0;
  for (const lynxpp::image::Entry& entry : *entries) {
    if (entry.uncompressed_size >= largest_content) continue;
    if (entry.kind == lynxpp::image::EntryKind::ptx) (void)lynxpp::image::ptx_text(entry);
    if (entry.kind != lynxpp::image::EntryKind::cubin) continue;
    if (const auto machine_code = lynxpp::image::content(entry))
      (void)lynxpp::image::debug_ptx(std::as_bytes(std::span(*machine_code)));
  }
  return 0;
}
