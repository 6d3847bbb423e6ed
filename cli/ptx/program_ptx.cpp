#include "cli/ptx/program_ptx.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "image/cubin_ptx.h"
#include "image/fatbinary.h"
#include "image/program_file.h"
#include "ptx/parser/parser.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

constexpr std::string_view binary_beginnings[] = {
    "\x7f"
    "ELF",
    "!<arch>", "\x50\xED\x55\xBA"};

bool is_binary(const std::string& contents) {
  return std::ranges::any_of(binary_beginnings,
                             [&](std::string_view beginning) { return contents.starts_with(beginning); });
}

struct HeldPtx {
  std::vector<std::string> texts;
  std::string problem;  ///< why machine code has no usable PTX; empty if it has
};

Status add_image(std::span<const std::byte> bytes, int sm, HeldPtx& held) {
  auto modules = image::ptx_modules(bytes, sm);
  if (!modules) return modules.error();
  std::ranges::move(*modules, std::back_inserter(held.texts));
  auto machine_code = image::ptx_of_machine_code(bytes);
  if (!machine_code) return machine_code.error();
  for (image::CubinPtx& each : *machine_code) {
    std::ranges::move(each.texts, std::back_inserter(held.texts));
    if (!each.problem.empty()) held.problem = std::move(each.problem);
  }
  return success();
}

bool is_named(const ptx::Function& function, const std::string& name) {
  const std::string demangled = demangle(function.name);
  return name == function.name || name == demangled || name == demangled.substr(0, demangled.find('('));
}

struct ParsedText {
  std::string text;
  std::vector<std::string> functions;  ///< defined functions, mangled
  std::vector<std::string> kernels;    ///< the kernels among them, demangled
  bool defines_name = false;
};

Result<ParsedText> parsed(std::string text, const std::string& path, const std::string& name) {
  const Result<ptx::Module> module = ptx::parse_module(text, path);
  if (!module) return module.error();
  ParsedText result;
  for (const ptx::Function& function : module->functions) {
    if (function.is_declaration()) continue;
    result.functions.push_back(function.name);
    result.defines_name |= is_named(function, name);
    const std::string demangled = demangle(function.name);
    if (function.is_entry) result.kernels.push_back(demangled.substr(0, demangled.find('(')));
  }
  result.text = std::move(text);
  return result;
}

/// A program of relocatable code contains its modules twice: compiled and linked. Keeps the first module that
/// defines each function.
Result<std::vector<ParsedText>> different(std::vector<std::string> texts, const std::string& path,
                                          const std::string& name) {
  std::set<std::string> functions;
  std::vector<ParsedText> found;
  for (std::string& text : texts) {
    Result<ParsedText> each = parsed(std::move(text), path, name);
    if (!each) return each.error();
    bool is_new = each->functions.empty() && found.empty();
    for (const std::string& function : each->functions) is_new |= functions.insert(function).second;
    if (is_new) found.push_back(std::move(*each));
  }
  return found;
}

std::string first_few(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > shown ? text + " and " + std::to_string(names.size() - shown) + " more" : text;
}

Result<std::string> choose(const std::string& path, HeldPtx held, const std::string& name) {
  if (held.texts.empty()) {
    return failure(path + " holds no PTX" + (held.problem.empty() ? "" : "; " + held.problem),
                   "build it with -lineinfo or -gencode arch=compute_XX,code=compute_XX");
  }
  if (held.texts.size() == 1) return std::move(held.texts.front());
  Result<std::vector<ParsedText>> modules = different(std::move(held.texts), path, name);
  if (!modules) return modules.error();
  if (modules->size() == 1) return std::move(modules->front().text);
  std::vector<std::string> kernels;
  for (ParsedText& module : *modules) {
    if (!name.empty() && module.defines_name) return std::move(module.text);
    std::ranges::move(module.kernels, std::back_inserter(kernels));
  }
  const std::string defined = kernels.empty() ? "it defines no kernel" : "it defines " + first_few(kernels);
  if (!name.empty()) return failure(path + " defines no kernel '" + name + "'", defined);
  return failure(path + " holds " + std::to_string(modules->size()) + " PTX modules",
                 "name a kernel with -k; " + defined);
}

}  // namespace

Result<std::string> read_ptx_module(const std::string& path, const std::string& name, int sm) {
  std::string contents;
  if (!read_file(path, contents)) return failure(cannot_read(path));
  if (!is_binary(contents)) return contents;
  const auto file = image::containers_in_file(path);
  if (!file) return file.error();
  HeldPtx held;
  for (const image::FileImage& image : file->images) {
    if (const Status added = add_image(image.bytes, sm, held); !added) return added.error();
  }
  return choose(path, std::move(held), name);
}

}  // namespace lynxpp::cli
