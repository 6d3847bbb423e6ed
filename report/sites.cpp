#include "report/sites.h"

#include <algorithm>
#include <cstdlib>

#include "support/text.h"

namespace lynxpp::report {
namespace {

/// Returns the first instruction in the range that has a line; `begin` if none has.
std::uint32_t first_with_line(const SitesRecord& sites, std::uint32_t begin, std::uint32_t count) {
  for (std::uint32_t i = begin; i < begin + count; ++i) {
    if (sites.instructions[i].line != 0) return i;
  }
  return begin;
}

/// Returns the type of the parameter `number`, from 1, of a demangled function; empty if unknown.
std::string parameter_type(const std::string& function, std::size_t number) {
  const std::size_t close = function.rfind(')');
  if (close == std::string::npos) return {};
  std::size_t open = close, depth = 0;
  do {  // skips template arguments and function pointers
    depth += function[open] == ')' ? 1 : 0;
    depth -= function[open] == '(' ? 1 : 0;
  } while (depth != 0 && open-- != 0);
  if (depth != 0) return {};
  std::size_t begin = open + 1, parameter = 1;
  for (std::size_t i = begin; i <= close; ++i) {
    const char c = function[i];
    const bool ends = i == close || (depth == 0 && c == ',');
    if (ends && parameter++ == number) return function.substr(begin, i - begin);
    if (ends) begin = i + 2;
    depth += c == '(' || c == '<' || c == '[' ? 1 : 0;
    depth -= (c == ')' || c == '>' || c == ']') && depth != 0 ? 1 : 0;
  }
  return {};
}

std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::vector<std::string> calls_of(const SitesRecord& sites, std::uint32_t call) {
  std::vector<std::string> calls;
  while (call != SitesRecord::unknown) {
    const SitesRecord::CallSite& site = sites.call_sites[call];
    if (site.file != SitesRecord::unknown)
      calls.push_back(name_of(sites.files[site.file]) + ":" + std::to_string(site.line));
    call = site.outer;
  }
  return calls;
}

/// Maps "argument 2" of "k(int, float const*)" to "argument 2 (float const*)"; strips scopes from a
/// variable's name.
std::string object_text(const std::string& object, const std::string& function) {
  constexpr std::string_view argument = "argument ";
  if (!object.starts_with(argument)) {
    const std::string name = demangle(object);
    const std::size_t scope = name.rfind("::");
    return scope == std::string::npos ? name : name.substr(scope + 2);
  }
  const std::string type =
      parameter_type(function, std::strtoul(object.c_str() + argument.size(), nullptr, 10));
  return type.empty() ? object : object + " (" + type + ")";
}

}  // namespace

std::optional<SiteKind> site_kind_of(const std::vector<std::string>& extent_names) {
  if (extent_names.size() != 1) return std::nullopt;
  if (extent_names[0] == "INSTRUCTIONS") return SiteKind::instruction;
  if (extent_names[0] == "BASIC_BLOCKS") return SiteKind::basic_block;
  return std::nullopt;
}

std::string SiteLabel::source() const { return line == 0 ? file : file + ":" + std::to_string(line); }

SiteLabel label_of(const SitesRecord* sites, SiteKind kind, std::uint64_t id) {
  SiteLabel label;
  label.id = id;
  if (sites == nullptr) return label;
  std::uint64_t instruction = id;
  if (kind == SiteKind::basic_block) {
    if (id >= sites->blocks.size() || sites->blocks[id].instructions == 0) return label;
    instruction = sites->blocks[id].first;
  }
  if (instruction >= sites->instructions.size()) return label;
  const SitesRecord::Instruction& site = sites->instructions[instruction];
  const SitesRecord::Block& block = sites->blocks[site.block];
  label.block = site.block;
  label.function = demangle(sites->functions[block.function]);
  label.ptx_line = site.ptx_line;
  if (kind == SiteKind::instruction) label.opcode = sites->opcodes[site.opcode];
  const std::uint32_t named = kind == SiteKind::instruction
                                  ? static_cast<std::uint32_t>(instruction)
                                  : first_with_line(*sites, block.first, block.instructions);
  const SitesRecord::Instruction& source = sites->instructions[named];
  if (source.file != SitesRecord::unknown) {
    label.file = name_of(sites->files[source.file]);
  }
  label.line = source.line;
  label.inlined_at = calls_of(*sites, source.call_site);
  if (kind == SiteKind::instruction && site.object != SitesRecord::unknown)
    label.object = object_text(sites->objects[site.object], label.function);
  return label;
}

}  // namespace lynxpp::report
