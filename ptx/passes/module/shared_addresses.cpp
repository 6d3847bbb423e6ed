#include "ptx/passes/module/shared_addresses.h"

#include <algorithm>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/module/entry.h"
#include "ptx/passes/module/parameter_slots.h"
#include "support/check.h"

namespace lynxpp::ptx {
namespace {

/// Returns a position after the declarations of shared variables, because assemblers require a declaration
/// before use.
std::uint32_t after_declarations(const Function& function) {
  std::uint32_t position = entry_position(function);
  for (const Variable& each : function.body->variables) {
    if (each.scope == 0 && each.space == StateSpace::shared) position = std::max(position, each.text.end);
  }
  return position;
}

/// Most blocks need only the first comparison.
void skip_all_but_one_thread(CodeBuilder& code, const Label& done) {
  code.branch_if(code.pred("setp.ne.u32", {code.special("%ctaid.x"), 0}), done);
  const VirtualRegister any = code.special("%tid.x");
  for (const char* index : {"%tid.y", "%tid.z", "%ctaid.y", "%ctaid.z"})
    code.emit("or.b32", {any, any, code.special(index)});
  code.branch_if(code.pred("setp.ne.u32", {any, 0}), done);
}

void add_to(const Function& function, const SharedAddresses& shared, EditList& edits) {
  const auto is_here = [&](const SharedAddresses::Variable& each) { return each.function == &function; };
  if (std::ranges::none_of(shared.variables, is_here)) return;
  CodeBuilder code(edits.names(function));
  const Label done = code.fresh_label();
  if (function.is_entry) skip_all_but_one_thread(code, done);
  const VirtualRegister addresses = ParameterSlots(function.is_entry, code).load(shared.slot, code);
  for (std::size_t i = 0; i < shared.variables.size(); ++i) {
    if (!is_here(shared.variables[i])) continue;
    const Name variable{shared.variables[i].name};
    const VirtualRegister address = code.b64("mov.u64", {variable});
    code.emit("st.global.b64", {CodeAddress{addresses, static_cast<std::int64_t>(8 * i)}, address});
  }
  if (function.is_entry) code.place(done);
  edits.insert_before(after_declarations(function), code.take());
}

}  // namespace

void store_shared_addresses(const ReachedFunctions& reached, const SharedAddresses& shared, EditList& edits) {
  for (const FunctionUnit& function : reached.functions) add_to(*function.function, shared, edits);
}

std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& function) {
  LYNXPP_CHECK(function.body.has_value(), "the variables of a function without a parsed body");
  std::vector<const Variable*> found;
  for (const Variable& each : function.body->variables) {
    if (each.space == StateSpace::shared && each.scope == 0) found.push_back(&each);
  }
  if (!function.is_entry) return found;
  for (const Variable& each : module.variables) {
    if (each.space == StateSpace::shared && function.body->find_variable(each.name, 0) == nullptr)
      found.push_back(&each);
  }
  return found;
}

}  // namespace lynxpp::ptx
