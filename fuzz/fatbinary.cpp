// Any bytes as a program image: its entries are listed and what claims to be PTX is decompressed.
#include <cstddef>
#include <cstdint>
#include <span>

#include "image/device_code.h"
#include "image/fatbinary.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)lynxpp::image::compiled_from(bytes);
  if (const auto entries = lynxpp::image::list_entries(bytes)) {
    for (const lynxpp::image::Entry& entry : *entries) {
      // What the header promises is not allocated before it is known to be there; still, be kind to the
      // fuzzer's memory.
      if (entry.kind == lynxpp::image::EntryKind::ptx && entry.uncompressed_size < (1U << 24))
        (void)lynxpp::image::ptx_text(entry);
    }
  }
  return 0;
}
