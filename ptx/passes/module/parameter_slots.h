// The slots of the hidden parameter, as a function of the variant reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/ir/code_builder.h"

namespace lynxpp::ptx {

// Names of what lynxpp adds. PTX identifiers of programs do not start with these.
inline constexpr std::string_view probe_parameter = "__lynxpp_probe";
inline constexpr std::string_view frame_parameter = "__lynxpp_frame_parameter";
inline constexpr std::string_view frame_variable = "__lynxpp_frame";

class ParameterSlots {
 public:
  /// Reads the kernel's parameter.
  ParameterSlots() : opcode_("ld.param.b64"), base_(Name{std::string(probe_parameter)}) {}
  /// Reads a device function's frame at the register's address.
  explicit ParameterSlots(VirtualRegister frame) : opcode_("ld.local.b64"), base_(frame) {}
  /// Loads the frame's address in a device function, if no register holds it.
  ParameterSlots(bool is_kernel, CodeBuilder& code) : ParameterSlots() {
    if (!is_kernel)
      *this = ParameterSlots(code.b64("ld.param.b64", {CodeAddress{Name{std::string(frame_parameter)}}}));
  }

  const std::string& opcode() const { return opcode_; }
  CodeAddress address(std::uint32_t slot) const { return {base_, std::int64_t{8} * slot}; }
  VirtualRegister load(std::uint32_t slot, CodeBuilder& code) const {
    return code.b64(opcode_, {address(slot)});
  }

 private:
  std::string opcode_;
  CodeRegister base_;
};

}  // namespace lynxpp::ptx
