#include "device/graphs.h"

namespace lynxpp::device {

Result<std::unique_ptr<ProgramGraph>> Device::program_graph() {
  return failure("graphs are not launched with variants on this device");
}

Result<std::span<const ProgramGraph::Part>> ProgramGraph::take_apart(const GraphCopy& /*copy*/) {
  return failure("graphs are not taken apart on this device");
}

Status ProgramGraph::launch_others(std::size_t /*part*/, const Launch& /*in*/) {
  return failure("graphs are not taken apart on this device");
}

}  // namespace lynxpp::device
