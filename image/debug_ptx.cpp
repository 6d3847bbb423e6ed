#include "image/debug_ptx.h"

#include <algorithm>
#include <charconv>

#include "image/elf.h"
#include "image/targets.h"

namespace lynxpp::image {
namespace {

constexpr std::string_view text_section = ".nv_debug_ptx_txt";
constexpr std::string_view options_section = ".note.nv.tkinfo";
constexpr std::string_view code_section = ".text.";

bool holds_ptx_text(std::string_view section) {
  if (!section.starts_with(text_section)) return false;
  return section.size() == text_section.size() || section[text_section.size()] == '.';
}

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Returns the first position from `from` on where a line begins with `word`; npos if no line does.
std::size_t line_with(std::string_view text, std::string_view word, std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t before = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
    if (at == 0 || before == std::string_view::npos || text[before] == '\n') return at;
  }
  return std::string_view::npos;
}

/// Appends the modules of one section: each begins with its .version.
Status split_text(Bytes section, std::vector<std::string>& modules) {
  if (section.empty() || (section.back() != std::byte{0} && section.back() != std::byte{'\n'}))
    return failure("the text ends in the middle of a line");
  std::string text(text_of(section));
  std::ranges::replace(text, '\0', '\n');
  if (!std::ranges::all_of(std::as_bytes(std::span(text)), is_text_byte))
    return failure("the section contains bytes that are not text");
  std::size_t begin = 0;
  std::size_t version = line_with(text, ".version");
  if (version == std::string_view::npos || line_with(text, ".target") == std::string_view::npos)
    return failure("the text has no .version and .target");
  while (version != std::string_view::npos) {
    const std::size_t next = line_with(text, ".version", version + 1);
    modules.push_back(text.substr(begin, next - begin));
    begin = version = next;
  }
  return success();
}

/// True if a note with the assembler's command line contains --fmad=false.
bool options_forbid_contraction(std::string_view notes) {
  for (std::size_t at = notes.find("-fmad"); at != std::string_view::npos; at = notes.find("-fmad", at + 1)) {
    std::string_view value = notes.substr(at + std::string_view("-fmad").size());
    value.remove_prefix(std::min(value.find_first_not_of(" ="), value.size()));
    if (value.starts_with("false")) return true;
  }
  return false;
}

/// True if a floating-point product has no explicit rounding: a compiler may contract it into an fma.
bool has_open_products(std::string_view text) {
  for (std::size_t at = text.find("mul."); at != std::string_view::npos; at = text.find("mul.", at + 1)) {
    const std::string_view opcode = text.substr(at, text.find_first_of(" \t\n;", at) - at);
    const bool is_floating =
        opcode.find(".f") != std::string_view::npos || opcode.find(".bf") != std::string_view::npos;
    const auto rounds = [&](std::string_view mode) {
      return opcode.ends_with(mode) || opcode.find(std::string(mode) + ".") != std::string_view::npos;
    };
    if (is_floating && !rounds(".rn") && !rounds(".rz") && !rounds(".rm") && !rounds(".rp")) return true;
  }
  return false;
}

}  // namespace

Result<DebugPtx> debug_ptx(Bytes cubin) {
  const auto sections = elf_sections(cubin);
  if (!sections) return DebugPtx{};
  DebugPtx found;
  bool forbids_contraction = false;
  for (const ElfSection& section : *sections) {
    if (section.name == options_section && section.content)
      forbids_contraction |= options_forbid_contraction(text_of(*section.content));
    if (!holds_ptx_text(section.name)) continue;
    if (!section.content) return failure("the text is truncated");
    if ((section.flags & elf_section_is_compressed) != 0) return failure("the section is compressed");
    if (const Status split = split_text(*section.content, found.modules); !split) return split.error();
  }
  found.forbids_contraction = forbids_contraction && std::ranges::any_of(found.modules, has_open_products);
  return found;
}

bool target_runs_on(std::string_view ptx, std::uint32_t sm) {
  constexpr std::string_view directive = ".target";
  const std::size_t line = line_with(ptx, directive);
  if (line == std::string_view::npos) return false;
  std::string_view target = ptx.substr(line + directive.size());
  target.remove_prefix(std::min(target.find_first_not_of(" \t"), target.size()));
  if (!target.starts_with("sm_")) return false;
  target.remove_prefix(std::string_view("sm_").size());
  Entry entry;
  entry.kind = EntryKind::ptx;
  const auto number = std::from_chars(target.data(), target.data() + target.size(), entry.sm);
  if (number.ec != std::errc()) return false;
  target.remove_prefix(static_cast<std::size_t>(number.ptr - target.data()));
  entry.flags = specialization_flags(target.empty() ? '\0' : target.front());
  return best_ptx(std::span(&entry, 1), sm) != nullptr;
}

std::vector<std::string> functions_of(Bytes cubin) {
  std::vector<std::string> names;
  const auto sections = elf_sections(cubin);
  if (!sections) return names;
  for (const ElfSection& section : *sections) {
    if (section.name.starts_with(code_section)) names.emplace_back(section.name.substr(code_section.size()));
  }
  return names;
}

}  // namespace lynxpp::image
