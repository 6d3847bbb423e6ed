#include "ptx/passes/module/shared_addresses.h"

#include "ptx/ir/code_builder.h"
#include "ptx/passes/module/entry.h"

namespace lynxpp::ptx {
namespace {

class SharedAddressesPass final : public Pass {
 public:
  std::string_view name() const override { return "shared-addresses"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    if (unit.shared.names.empty()) return false;
    const Function& kernel = *unit.reached.kernel().function;
    CodeBuilder code(unit.edits.names(kernel));
    const VirtualRegister any = code.compute(RegisterType::b32, "mov.u32", {SpecialRegister{"%tid.x"}});
    for (const char* index : {"%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"})
      code.emit("or.b32", {any, any, code.compute(RegisterType::b32, "mov.u32", {SpecialRegister{index}})});
    const VirtualRegister others = code.compute(RegisterType::pred, "setp.ne.u32", {any, 0});
    const Label done = code.fresh_label();
    code.branch_if(others, done);
    const VirtualRegister place =
        code.compute(RegisterType::b64, "ld.param.b64",
                     {CodeAddress{Name{std::string(probe_parameter)}, std::int64_t{8} * unit.shared.word}});
    for (std::size_t i = 0; i < unit.shared.names.size(); ++i) {
      const VirtualRegister address = code.compute(RegisterType::b64, "mov.u64", {Name{unit.shared.names[i]}});
      code.emit("st.global.b64", {CodeAddress{place, static_cast<std::int64_t>(8 * i)}, address});
    }
    code.place(done);
    unit.edits.insert_before(entry_position(kernel), code.take());
    return true;
  }
};

}  // namespace

std::unique_ptr<Pass> make_shared_addresses_pass() { return std::make_unique<SharedAddressesPass>(); }

std::vector<const Variable*> addressable_shared_variables(const Module& module, const Function& kernel) {
  std::vector<const Variable*> found;
  for (const Variable& each : kernel.body->variables) {
    if (each.space == StateSpace::shared && each.scope == 0) found.push_back(&each);
  }
  for (const Variable& each : module.variables) {
    if (each.space == StateSpace::shared && kernel.body->find_variable(each.name, 0) == nullptr)
      found.push_back(&each);
  }
  return found;
}

}  // namespace lynxpp::ptx
