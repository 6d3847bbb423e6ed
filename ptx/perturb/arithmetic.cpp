// The arithmetic of a kernel as independent work: operations of the classes integer, fp32 and fp64 on
// accumulators, which the program never waits for. Their cost is the time that the kernel's arithmetic needs
// at least, however well its latency is hidden.
#include <array>
#include <memory>

#include "ptx/perturb/operation_code.h"

namespace lynxpp::ptx {
namespace {

class Arithmetic : public OperationCode {
 public:
  bool selects(const FunctionUnit& function, const Instruction& instruction) const override {
    return code_of(function, instruction) != nullptr;
  }

  Outcome add(Additions& to) override { return code_of(to.kernel(), to.site())->add(to); }

 private:
  OperationCode* code_of(const FunctionUnit& function, const Instruction& instruction) const {
    for (const auto& each : classes_) {
      if (each->selects(function, instruction)) return each.get();
    }
    return nullptr;
  }

  const std::array<std::unique_ptr<OperationCode>, 3> classes_{integer_code(false), fp32_code(false),
                                                               fp64_code(false)};
};

}  // namespace

std::unique_ptr<OperationCode> arithmetic_code() { return std::make_unique<Arithmetic>(); }

}  // namespace lynxpp::ptx
