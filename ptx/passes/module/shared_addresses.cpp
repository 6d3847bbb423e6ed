#include "ptx/passes/module/shared_addresses.h"

#include <algorithm>

#include "ptx/ir/code_builder.h"
#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

/// Behind the declarations of shared variables: assemblers take no name before it is declared.
std::uint32_t behind_declarations(const Function& function) {
  std::uint32_t position = entry_position(function);
  for (const Variable& each : function.body->variables) {
    if (each.scope == 0 && each.space == StateSpace::shared) position = std::max(position, each.text.end);
  }
  return position;
}

class SharedAddressesPass final : public Pass {
 public:
  std::string_view name() const override { return "shared-addresses"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    bool changed = false;
    for (const FunctionUnit& function : unit.reached.functions) changed |= add_to(unit, *function.function);
    return changed;
  }

 private:
  static bool add_to(InstrumentationUnit& unit, const Function& function) {
    const auto is_here = [&](const SharedAddresses::Place& each) { return each.function == &function; };
    if (std::ranges::none_of(unit.words.shared.variables, is_here)) return false;
    CodeBuilder code(unit.edits.names(function));
    const Label done = code.fresh_label();
    if (function.is_entry) skip_all_but_one_thread(code, done);
    const VirtualRegister place = place_of_addresses(unit, function, code);
    for (std::size_t i = 0; i < unit.words.shared.variables.size(); ++i) {
      if (!is_here(unit.words.shared.variables[i])) continue;
      const Name variable{unit.words.shared.variables[i].name};
      const VirtualRegister address = code.compute(RegisterType::b64, "mov.u64", {variable});
      code.emit("st.global.b64", {CodeAddress{place, static_cast<std::int64_t>(8 * i)}, address});
    }
    if (function.is_entry) code.place(done);
    unit.edits.insert_before(behind_declarations(function), code.take());
    return true;
  }

  /// Most blocks leave behind the first comparison.
  static void skip_all_but_one_thread(CodeBuilder& code, const Label& done) {
    const auto read = [&](const char* index) {
      return code.compute(RegisterType::b32, "mov.u32", {SpecialRegister{index}});
    };
    code.branch_if(code.compute(RegisterType::pred, "setp.ne.u32", {read("%ctaid.x"), 0}), done);
    const VirtualRegister any = read("%tid.x");
    for (const char* index : {"%tid.y", "%tid.z", "%ctaid.y", "%ctaid.z"})
      code.emit("or.b32", {any, any, read(index)});
    code.branch_if(code.compute(RegisterType::pred, "setp.ne.u32", {any, 0}), done);
  }

  static VirtualRegister place_of_addresses(const InstrumentationUnit& unit, const Function& function,
                                            CodeBuilder& code) {
    const std::int64_t word = std::int64_t{8} * unit.words.shared.word;
    if (function.is_entry)
      return code.compute(RegisterType::b64, "ld.param.b64",
                          {CodeAddress{Name{std::string(probe_parameter)}, word}});
    const CodeAddress parameter{Name{std::string(frame_parameter)}};
    const VirtualRegister frame = code.compute(RegisterType::b64, "ld.param.b64", {parameter});
    return code.compute(RegisterType::b64, "ld.local.b64", {CodeAddress{frame, word}});
  }
};

}  // namespace

std::unique_ptr<Pass> make_shared_addresses_pass() { return std::make_unique<SharedAddressesPass>(); }

std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& function) {
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
