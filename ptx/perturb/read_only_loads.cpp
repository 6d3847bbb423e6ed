// A remedy that changes no result where nothing writes the loaded memory: the loads use the read-only path.
//
//   ld.global.v2.f32 {%f1, %f2}, [%rd1];   ▶   ld.global.nc.v2.f32 {%f1, %f2}, [%rd1];
#include <string>
#include <string_view>
#include <vector>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

constexpr std::string_view plain = "ld.global.";

/// True for a load without other modifiers than its space, its width and its type.
bool is_plain_load(const Instruction& instruction) {
  if (!instruction.opcode.starts_with(plain)) return false;
  std::string_view rest = instruction.opcode.substr(plain.size());
  if (rest.starts_with("v2.") || rest.starts_with("v4.")) rest.remove_prefix(3);
  return rest.size() >= 2 && rest.find('.') == std::string_view::npos && rest != "nc";
}

}  // namespace

void use_read_only_loads(InstrumentationUnit& unit, std::vector<PerturbedSite>& sites) {
  const Body& body = *unit.reached.kernel().function->body;
  for (const Instruction& instruction : body.instructions) {
    if (instruction.op() != Op::ld || instruction.traits.space != StateSpace::global) continue;
    Outcome outcome;
    if (is_plain_load(instruction)) {
      const std::string rest(instruction.opcode.substr(plain.size()));
      unit.edits.replace(body.opcode_range(instruction, unit.module.source()), "ld.global.nc." + rest);
    } else {
      outcome = left_out("it has other modifiers");
    }
    sites.push_back(describe(unit.module, instruction, std::move(outcome)));
  }
}

}  // namespace lynxpp::ptx
