#include "image/device_code.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "image/bytes.h"
#include "image/compiler_caches.h"
#include "image/elf.h"
#include "image/targets.h"

namespace lynxpp::image {
namespace {

constexpr std::uint32_t compilation_note =
    1000;  // in .note.nv.cuinfo: version, virtual architecture, toolkit
const std::string no_ptx = "the program carries no PTX for it";
constexpr const char* build_with_ptx =
    "build with a compute_XX target, e.g. nvcc -gencode arch=compute_80,code=compute_80, or with -lineinfo, "
    "which keeps the PTX next to the machine code";
constexpr const char* run_with_own_cache =
    "leave the variable unset under `lynxpp run`, which gives the framework a cache in the PTX store, or "
    "name an "
    "empty folder";

/// Returns the architecture in the first note of this type.
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

using Codes = std::vector<DeviceCode>;

Codes refusal(std::string problem, std::string hint, bool has_other_ptx) {
  return {DeviceCode{{}, std::move(problem), std::move(hint), has_other_ptx}};
}

Result<Codes> taken_from(const Entry& entry) {
  auto text = ptx_text(entry);
  if (!text) return text.error();
  return Codes{DeviceCode{std::move(*text), {}, {}}};
}

Codes taken_from(CubinPtx found) {
  Codes codes;
  for (std::string& text : found.texts) codes.push_back({std::move(text), {}, {}, false, found.origin});
  return codes;
}

/// Handles a container whose `cubin` the driver loads; the container may also have PTX.
Result<Codes> of_machine_code(const Entry& cubin, std::span<const Entry> container, std::uint32_t sm) {
  const auto machine_code = content(cubin);
  if (!machine_code) return machine_code.error();
  const Bytes bytes = std::as_bytes(std::span(*machine_code));
  const std::uint32_t architecture = compiled_from(bytes).value_or(cubin.sm);
  const auto source = std::find_if(container.begin(), container.end(), [&](const Entry& entry) {
    return entry.kind == EntryKind::ptx && entry.sm == architecture && same_specialization(entry, cubin);
  });
  if (source != container.end()) return taken_from(*source);
  CubinPtx elsewhere = ptx_of_cubin(bytes, {.sm = sm});
  if (!elsewhere.texts.empty()) return taken_from(std::move(elsewhere));
  const std::string others = targets_of_ptx(container);
  if (others.empty()) {
    if (!elsewhere.problem.empty()) return refusal(std::move(elsewhere.problem), build_with_ptx, false);
    const bool is_alone = cubin.sm == 0;
    const std::string cache = is_alone ? unobserved_compilation() : "";
    return refusal(no_ptx + cache, cache.empty() ? build_with_ptx : run_with_own_cache, false);
  }
  Entry wanted = cubin;
  wanted.sm = architecture;
  const std::string source_name = "compute_" + target_name(wanted);
  const std::string cubin_name = "sm_" + target_name(cubin);
  return refusal(
      "the device runs machine code for " + cubin_name + ", compiled from " + source_name +
          "; the program's PTX is for " + others + " and may be different code",
      "build with nvcc -gencode arch=" + source_name + ",code=[" + cubin_name + "," + source_name + "]",
      true);
}

Result<Codes> codes_of(std::span<const Entry> container, std::uint32_t sm) {
  if (const Entry* const cubin = best_cubin(container, sm)) return of_machine_code(*cubin, container, sm);
  if (const Entry* const ptx = best_ptx(container, sm)) return taken_from(*ptx);
  const std::string targets = targets_of_ptx(container);
  if (targets.empty()) return refusal(no_ptx, build_with_ptx, false);
  return refusal("the program's PTX is for " + targets + ", not for compute capability " + dotted(sm),
                 "build with a compute_XX target that is not newer than the device", true);
}

}  // namespace

std::optional<std::uint32_t> compiled_from(Bytes cubin) {
  constexpr std::uint8_t version_with_flags = 7;  // of the ABI, up to CUDA 12
  if (load<std::uint32_t>(cubin, 0) != elf_magic) return std::nullopt;
  const auto version = load<std::uint8_t>(cubin, 8);
  const auto flags = load<std::uint32_t>(cubin, 48);
  if (!load<std::uint16_t>(cubin, 60)) return std::nullopt;
  if (*version == version_with_flags) return (*flags >> 16) & 0xff;
  const auto sections = elf_sections(cubin);
  if (!sections) return std::nullopt;
  for (const ElfSection& section : *sections) {
    if (section.type != elf_section_of_notes || !section.content) continue;
    if (const auto architecture = architecture_in(*section.content)) return architecture;
  }
  return std::nullopt;
}

Result<std::vector<DeviceCode>> device_code(Bytes bytes, int sm) {
  const auto entries = list_entries(bytes);
  if (!entries) return entries.error();
  std::vector<DeviceCode> codes;
  for (const std::span<const Entry> container : by_container(*entries)) {
    auto found = codes_of(container, static_cast<std::uint32_t>(std::max(sm, 0)));
    if (!found) return found.error();
    std::ranges::move(*found, std::back_inserter(codes));
  }
  return codes;
}

}  // namespace lynxpp::image
