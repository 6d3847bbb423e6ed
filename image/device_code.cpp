#include "image/device_code.h"

#include <algorithm>
#include <utility>

#include "image/bytes.h"
#include "image/targets.h"

namespace lynxpp::image {
namespace {

constexpr std::uint32_t section_is_notes = 7;
constexpr std::uint32_t compilation_note =
    1000;  // of .note.nv.cuinfo: version, virtual architecture, toolkit

/// The architecture in the first such note of a section of notes.
std::optional<std::uint32_t> architecture_in(Bytes notes) {
  constexpr std::uint64_t header_size = 12;
  const auto padded = [](std::uint64_t size) { return (size + 3) / 4 * 4; };
  for (std::uint64_t offset = 0; offset < notes.size();) {
    const auto name_size = load<std::uint32_t>(notes, offset);
    const auto size = load<std::uint32_t>(notes, offset + 4);
    const auto type = load<std::uint32_t>(notes, offset + 8);
    if (!type) return std::nullopt;
    const std::uint64_t content = offset + header_size + padded(*name_size);
    if (*type == compilation_note) {
      const auto architecture = load<std::uint16_t>(notes, content + 2);
      return *size >= 4 && architecture ? std::optional<std::uint32_t>(*architecture) : std::nullopt;
    }
    offset = content + padded(*size);
  }
  return std::nullopt;
}

std::string dotted(std::uint32_t sm) { return std::to_string(sm / 10) + "." + std::to_string(sm % 10); }

/// "compute_80 and compute_100f", or empty.
std::string targets_of_ptx(std::span<const Entry> container) {
  std::string names;
  for (const Entry& entry : container) {
    if (entry.kind == EntryKind::ptx)
      names += (names.empty() ? "compute_" : " and compute_") + target_name(entry);
  }
  return names;
}

Result<DeviceCode> taken_from(const Entry& entry) {
  auto text = ptx_text(entry);
  if (!text) return text.error();
  return DeviceCode{std::move(*text), {}, {}, false};
}

/// The container holds PTX, and the driver loads `cubin`.
Result<DeviceCode> beside(const Entry& cubin, std::span<const Entry> container) {
  const auto machine_code = content(cubin);
  if (!machine_code) return machine_code.error();
  const std::uint32_t architecture =
      compiled_from(std::as_bytes(std::span(*machine_code))).value_or(cubin.sm);
  const auto source = std::find_if(container.begin(), container.end(), [&](const Entry& entry) {
    return entry.kind == EntryKind::ptx && entry.sm == architecture && same_specialization(entry, cubin);
  });
  if (source != container.end()) return taken_from(*source);
  Entry wanted = cubin;
  wanted.sm = architecture;
  const std::string source_name = "compute_" + target_name(wanted);
  const std::string cubin_name = "sm_" + target_name(cubin);
  return DeviceCode{
      {},
      "what runs is machine code for " + cubin_name + ", compiled from " + source_name +
          "; the program's PTX is for " + targets_of_ptx(container) + " and may be other code",
      "build with nvcc -gencode arch=" + source_name + ",code=[" + cubin_name + "," + source_name + "]",
      true};
}

Result<DeviceCode> code_of(std::span<const Entry> container, std::uint32_t sm) {
  const std::string targets = targets_of_ptx(container);
  if (targets.empty()) {
    return DeviceCode{{},
                      "the program carries no PTX for it",
                      "build with a compute_XX target, e.g. nvcc -gencode arch=compute_80,code=compute_80",
                      false};
  }
  if (const Entry* const cubin = best_cubin(container, sm)) return beside(*cubin, container);
  if (const Entry* const ptx = best_ptx(container, sm)) return taken_from(*ptx);
  return DeviceCode{{},
                    "the program's PTX is for " + targets + ", not for compute capability " + dotted(sm),
                    "build with a compute_XX target that is not newer than the device",
                    true};
}

}  // namespace

std::optional<std::uint32_t> compiled_from(Bytes cubin) {
  constexpr std::uint8_t version_with_flags = 7;  // of the ABI, to CUDA 12: the header's flags tell
  if (load<std::uint32_t>(cubin, 0) != elf_magic) return std::nullopt;
  const auto version = load<std::uint8_t>(cubin, 8);
  const auto flags = load<std::uint32_t>(cubin, 48);
  const auto table = load<std::uint64_t>(cubin, 40);
  const auto header_size = load<std::uint16_t>(cubin, 58);
  const auto count = load<std::uint16_t>(cubin, 60);
  if (!count) return std::nullopt;
  if (*version == version_with_flags) return (*flags >> 16) & 0xff;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto header = slice(cubin, *table, (i + 1) * *header_size);
    if (!header || *header_size < 64) return std::nullopt;
    const Bytes section = header->last(*header_size);
    if (*load<std::uint32_t>(section, 4) != section_is_notes) continue;
    const auto notes = slice(cubin, *load<std::uint64_t>(section, 24), *load<std::uint64_t>(section, 32));
    if (!notes) continue;
    if (const auto architecture = architecture_in(*notes)) return architecture;
  }
  return std::nullopt;
}

Result<std::vector<DeviceCode>> device_code(Bytes bytes, int sm) {
  const auto entries = list_entries(bytes);
  if (!entries) return entries.error();
  std::vector<DeviceCode> codes;
  for (const std::span<const Entry> container : by_container(*entries)) {
    auto code = code_of(container, static_cast<std::uint32_t>(std::max(sm, 0)));
    if (!code) return code.error();
    codes.push_back(std::move(*code));
  }
  return codes;
}

}  // namespace lynxpp::image
