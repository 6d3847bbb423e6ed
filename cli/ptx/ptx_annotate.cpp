// `lynxpp ptx annotate`: shows the original next to the PTX instrumented by specifications.
#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/ptx/arguments.h"
#include "cli/ptx/ptx_diff.h"
#include "cli/ptx/ptx_input.h"
#include "cli/texts/texts.h"
#include "engine/instrument.h"
#include "instrumentors/catalogue.h"
#include "ptx/parser/parser.h"

namespace lynxpp::cli {
namespace {

/// Compiles the specifications; prints their errors.
ExitCode compile_specifications(const std::vector<std::string>& names,
                                std::vector<engine::SpecificationPtr>& compiled) {
  const Result<std::vector<std::string>> entries = with_texts(names, {});
  if (!entries) return print(entries.error().diagnostics), exit_usage_error;
  std::string list;
  for (const std::string& name : *entries) list += (list.empty() ? "" : ",") + name;
  const auto found = instrumentors::parse_list(list, instrumentors::Pipes::read);
  if (!found) return print(found.error().diagnostics), exit_usage_error;
  for (const instrumentors::LoadedSpecification& text : *found) {
    Diagnostics warnings;
    auto specification = cod::compile(text.source, text.path, &warnings);
    print(warnings, text.source);
    if (!specification) return print(specification.error().diagnostics, text.source), exit_input_error;
    compiled.push_back(std::move(*specification));
  }
  return exit_success;
}

/// Expands tabs to the next stop, so that columns align.
std::string expanded(std::string_view text) {
  constexpr std::size_t stop = 4;
  std::string result;
  for (const char c : text) {
    if (c == '\t') {
      result.append(stop - result.size() % stop, ' ');
    } else {
      result += c;
    }
  }
  return result;
}

void print_interleaved(const std::vector<DiffRow>& rows) {
  for (const DiffRow& row : rows) {
    const char mark = row.in_first && row.in_second ? ' ' : row.in_first ? '-' : '+';
    std::printf("%c %.*s\n", mark, static_cast<int>(row.text.size()), row.text.data());
  }
}

void print_side_by_side(const std::vector<DiffRow>& rows) {
  constexpr std::size_t widest = 60;
  std::size_t width = 0;
  for (const DiffRow& row : rows) {
    if (row.in_first) width = std::max(width, std::min(widest, expanded(row.text).size()));
  }
  for (const DiffRow& row : rows) {
    const std::string text = expanded(row.text);
    std::string left = row.in_first ? text : "";
    if (left.size() < width) left.append(width - left.size(), ' ');
    const char mark = row.in_first && row.in_second ? ' ' : row.in_first ? '<' : '>';
    std::printf("%s %c %s\n", left.c_str(), mark, row.in_second ? text.c_str() : "");
  }
}

std::string_view text_of(const ptx::Module& module, const std::string& function) {
  const ptx::Function* found = module.find_function(function);
  return found == nullptr ? std::string_view() : module.text(found->text);
}

/// Prints every function of the variant next to the original of the same name.
void print_variant(const PtxInput& input, const ptx::Module& variant, bool side_by_side) {
  for (const ptx::Function& function : variant.functions) {
    if (function.is_declaration()) continue;
    const std::string_view after = variant.text(function.text);
    const std::vector<DiffRow> rows = diff_lines(text_of(input.module, function.name), after);
    const auto added = std::ranges::count_if(rows, [](const DiffRow& row) { return !row.in_first; });
    const auto removed = std::ranges::count_if(rows, [](const DiffRow& row) { return !row.in_second; });
    std::printf("// %s: %s added, %lld removed\n", readable_name(function).c_str(),
                counted(static_cast<std::uint64_t>(added), "line").c_str(), static_cast<long long>(removed));
    side_by_side ? print_side_by_side(rows) : print_interleaved(rows);
  }
}

}  // namespace

int ptx_annotate(const PtxArguments& arguments) {
  std::vector<engine::SpecificationPtr> specifications;
  const ExitCode compiled = compile_specifications(arguments.specifications, specifications);
  if (compiled != exit_success) return compiled;
  PtxInput input;
  if (!read_ptx_input(arguments.input, arguments.kernel, Wanted::kernels, input)) return exit_input_error;
  int exit_code = exit_success;
  for (const std::string& kernel : input.functions) {
    engine::Request request;
    request.ptx = &input.text;
    request.kernel = kernel;
    request.specifications = specifications;
    const Result<engine::Instrumented> result = engine::instrument(request);
    if (!result) {
      Diagnostics diagnostics = result.error().diagnostics;
      for (Diagnostic& diagnostic : diagnostics) {
        if (diagnostic.location.file == "<ptx>") diagnostic.location.file = input.path;
      }
      print(diagnostics, input.text);
      exit_code = exit_input_error;
      continue;
    }
    const Result<ptx::Module> variant = ptx::parse_module(result->ptx, "<instrumented>");
    if (!variant) return print(variant.error().diagnostics, result->ptx), exit_input_error;
    print_variant(input, *variant, arguments.side_by_side);
    for (const std::string& note : result->notes) print({{Severity::note, {}, note, ""}});
  }
  return exit_code;
}

}  // namespace lynxpp::cli
