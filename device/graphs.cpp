#include "device/graphs.h"

namespace lynxpp::device {

Result<std::unique_ptr<ProgramGraph>> Device::program_graph() {
  return failure("graphs are not launched with variants on this device");
}

}  // namespace lynxpp::device
