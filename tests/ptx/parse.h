// Shared by the tests of this folder: text ▶ module, with readable failures.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "ptx/parser/parser.h"

namespace lynxpp::ptx {

inline const std::string header = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The module of `text` after the usual three header lines; an empty module and a failed test if it does not
/// parse.
inline Module module_of(const std::string& text) {
  Result<Module> module = parse_module(header + text, "test.ptx");
  if (module) return std::move(*module);
  ADD_FAILURE() << render(module.error().diagnostics, header + text);
  return Module("");
}

/// Parses every body with both parsers and fails the test if the bodies or the diagnostics differ.
inline void expect_both_ways_agree(const Module& module) {
  for (const Function& function : module.functions) {
    if (function.is_declaration()) continue;
    Function fast = function;
    Function reference = function;
    fast.body.reset();
    reference.body.reset();
    const Status fast_status = parse_body(module, fast, "test.ptx");
    const Status status = parse_body(module, reference, "test.ptx", BodyParsing::grammar);
    const auto text = [](const Status& s) { return s ? std::string() : render(s.error().diagnostics); };
    EXPECT_EQ(text(fast_status), text(status)) << function.name;
    if (!fast_status || !status || *fast.body == *reference.body) continue;
    ADD_FAILURE() << "the body of " << function.name << " differs";
    for (std::size_t at = 0;
         at < std::min(fast.body->instructions.size(), reference.body->instructions.size()); ++at) {
      const Instruction& instruction = reference.body->instructions[at];
      if (fast.body->instructions[at] == instruction) continue;
      ADD_FAILURE() << "first at line " << instruction.line << ": " << module.text(instruction.text);
      break;
    }
  }
}

/// A module with the entry `k` with that body, parsed.
inline Module module_of_body(const std::string& body) {
  Module module = module_of(".visible .entry k()\n{\n" + body + "\n}\n");
  if (module.functions.empty()) return module;
  const Status status = parse_all_bodies(module, "test.ptx");
  expect_both_ways_agree(module);
  if (!status) {
    ADD_FAILURE() << render(status.error().diagnostics, module.source());
    module.functions[0].body.emplace();
  }
  return module;
}

/// The diagnostics if `text` (the entire module) or one of its bodies is rejected; otherwise empty.
inline std::string diagnostics_of(const std::string& text) {
  Result<Module> module = parse_module(text, "test.ptx");
  if (!module) return render(module.error().diagnostics);
  expect_both_ways_agree(*module);
  const Status status = parse_all_bodies(*module, "test.ptx");
  return status ? std::string() : render(status.error().diagnostics);
}

}  // namespace lynxpp::ptx
