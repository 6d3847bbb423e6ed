// What the tests of this folder share: text ▶ module, with readable failures.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ptx/parser/parser.h"

namespace lynxpp::ptx {

inline const std::string header = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The module of `text` behind the usual three lines; an empty module and a failed test when it does not parse.
inline Module module_of(const std::string& text) {
  Result<Module> module = parse_module(header + text, "test.ptx");
  if (module) return std::move(*module);
  ADD_FAILURE() << render(module.error().diagnostics, header + text);
  return Module("");
}

/// A module with the entry `k` of that body, parsed.
inline Module module_of_body(const std::string& body) {
  Module module = module_of(".visible .entry k()\n{\n" + body + "\n}\n");
  if (module.functions.empty()) return module;
  const Status status = parse_all_bodies(module, "test.ptx");
  if (!status) {
    ADD_FAILURE() << render(status.error().diagnostics, module.source());
    module.functions[0].body.emplace();
  }
  return module;
}

/// What a user reads when `text` (the whole module) or one of its bodies is refused; empty when it is not.
inline std::string diagnostics_of(const std::string& text) {
  Result<Module> module = parse_module(text, "test.ptx");
  if (!module) return render(module.error().diagnostics);
  const Status status = parse_all_bodies(*module, "test.ptx");
  return status ? std::string() : render(status.error().diagnostics);
}

}  // namespace lynxpp::ptx
