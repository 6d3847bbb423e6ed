// `lynxpp check --explain FILE.ptx`: shows the sites of the specifications' handlers.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/diagnostics.h"
#include "cli/exit_code.h"
#include "cli/ptx/ptx_input.h"
#include "cli/specification_arguments.h"
#include "cli/texts/texts.h"
#include "engine/handler_sites.h"
#include "instrumentors/catalogue.h"
#include "support/text.h"

namespace lynxpp::cli {
namespace {

struct Explained {
  const instrumentors::LoadedSpecification& file;
  const cod::Specification& specification;
  const std::string& kernel;
};

std::string handler_name(const cod::Handler& handler) {
  if (handler.is_initializer) return "initial values";
  return std::string(cod::name_of(handler.target)) + " of line " + std::to_string(handler.location.line);
}

void print_text(const Explained& what, const engine::HandlerSites& found) {
  const cod::Handler& handler = what.specification.handlers()[found.handler];
  std::printf("%s: %s: %s: %s%s\n", what.file.path.c_str(), demangle(what.kernel).c_str(),
              handler_name(handler).c_str(), counted(found.sites.size(), "site").c_str(),
              handler.is_counted ? ", counted on few edges of the control flow" : "");
  for (const engine::HandlerSite& site : found.sites) {
    const std::string source =
        site.file.empty() ? std::string() : site.file + ":" + std::to_string(site.source_line);
    const bool is_elsewhere = site.function != what.kernel;
    const std::string function = is_elsewhere ? demangle(site.function) + ", " : std::string();
    std::printf("  line %-6u %sblock %-4u %s%s%s\n", site.line, function.c_str(), site.block,
                site.instruction.c_str(), source.empty() ? "" : "  // ", source.c_str());
  }
  if (!found.hint.empty()) std::printf("  hint: %s\n", found.hint.c_str());
}

void print_json(const Explained& what, const engine::HandlerSites& found) {
  const cod::Handler& handler = what.specification.handlers()[found.handler];
  nlohmann::ordered_json object;
  object["spec"] = what.specification.name();
  object["kernel"] = what.kernel;
  object["demangled"] = demangle(what.kernel);
  object["target"] = cod::name_of(handler.target);
  object["line"] = handler.location.line;
  object["count"] = found.sites.size();
  object["without_code"] = handler.is_counted;
  object["places"] = nlohmann::ordered_json::array();  // english: ok
  for (const engine::HandlerSite& site : found.sites) {
    nlohmann::ordered_json each;
    each["function"] = site.function;
    each["block"] = site.block;
    each["ptx_line"] = site.line;
    each["file"] = site.file.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(site.file);
    each["line"] = site.source_line;
    each["instruction"] = site.instruction;
    object["places"].push_back(std::move(each));  // english: ok
  }
  if (!found.hint.empty()) object["hint"] = found.hint;
  const std::string text =
      object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

/// If a specification or a function of the module has errors, prints them on stderr and returns false.
bool explain_one(const instrumentors::LoadedSpecification& file, PtxInput& input, bool as_json) {
  Diagnostics warnings;
  const auto specification = cod::compile(file.source, file.path, &warnings);
  print(warnings, file.source);
  if (!specification) {
    print(specification.error().diagnostics, file.source);
    return false;
  }
  bool is_good = true;
  for (const std::string& kernel : input.functions) {
    const auto sites = engine::find_handler_sites(input.module, kernel, **specification);
    if (!sites) {
      print(sites.error().diagnostics, input.text);
      is_good = false;
      continue;
    }
    const Explained what{file, **specification, kernel};
    for (const engine::HandlerSites& found : *sites) {
      as_json ? print_json(what, found) : print_text(what, found);
    }
  }
  return is_good;
}

}  // namespace

int explain(const CheckArguments& arguments) {
  PtxInput input;
  if (!read_ptx_input(arguments.explain, arguments.kernel, Wanted::kernels, input)) return exit_input_error;
  bool is_good = true;
  const Result<std::vector<std::string>> names = with_texts(arguments.files, arguments.one_liners);
  if (!names) {
    print(names.error().diagnostics);
    return exit_input_error;
  }
  for (const std::string& name : *names) {
    const auto file = instrumentors::find_specification(name);
    if (file) {
      is_good &= explain_one(*file, input, arguments.json);
    } else {
      print(file.error().diagnostics);
      is_good = false;
    }
  }
  return is_good ? exit_success : exit_input_error;
}

}  // namespace lynxpp::cli
