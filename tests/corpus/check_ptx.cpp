// Parses every body of PTX files and emits the modules again, which must yield the same bytes. Used by the
// corpus tests. For each file that passes, prints "module\t<file>\t<functions>\t<instructions>\t<bytes>",
// then for each kernel "kernel\t<name>\t<bytes>"; on standard error, prints problems ("FAIL: …") and unknown
// opcodes.
//
//   check_ptx FILE.ptx…
//
// Exit status: 0 if all files pass, otherwise 1.
#include <cstdio>
#include <set>
#include <string>

#include "ptx/emitter/emitter.h"
#include "ptx/parser/parser.h"
#include "support/text.h"

namespace {

using namespace lynxpp;

int complain(const std::string& path, const std::string& what) {
  std::fprintf(stderr, "FAIL: %s: %s\n", path.c_str(), what.c_str());
  return 1;
}

struct Counts {
  std::size_t functions = 0;
  std::size_t instructions = 0;
  std::set<std::string, std::less<>> unknown_opcodes;
};

/// Drops each body after parsing: the largest modules have 40 MB of text.
Status parse_bodies(ptx::Module& module, const std::string& path, Counts& counts) {
  for (ptx::Function& function : module.functions) {
    if (function.is_declaration()) continue;
    if (Status parsed = ptx::parse_body(module, function, path); !parsed) return parsed;
    ++counts.functions;
    counts.instructions += function.body->instructions.size();
    for (const ptx::Instruction& instruction : function.body->instructions) {
      if (!instruction.traits.is_known()) counts.unknown_opcodes.emplace(instruction.opcode);
    }
    function.body.reset();
  }
  return success();
}

int check(const std::string& path) {
  std::string text;
  if (!read_file(path, text)) return complain(path, "cannot be read");
  Result<ptx::Module> module = ptx::parse_module(text, path);
  if (!module) return complain(path, render(module.error().diagnostics, text));
  Counts counts;
  if (Status parsed = parse_bodies(*module, path, counts); !parsed)
    return complain(path, render(parsed.error().diagnostics, text));
  if (ptx::emit(*module, {}) != text) return complain(path, "emitted text differs");
  for (const std::string& opcode : counts.unknown_opcodes)
    std::fprintf(stderr, "note: %s: unknown opcode '%s'\n", path.c_str(), opcode.c_str());
  std::printf("module\t%s\t%zu\t%zu\t%zu\n", path.c_str(), counts.functions, counts.instructions,
              text.size());
  for (const ptx::Function& function : module->functions) {
    if (function.is_entry && !function.is_declaration())
      std::printf("kernel\t%s\t%u\n", function.name.c_str(),
                  function.body_text.end - function.body_text.begin);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s FILE.ptx…\n", argv[0]), 2;
  int status = 0;
  for (int i = 1; i < argc; ++i) status |= check(argv[i]);
  return status;
}
