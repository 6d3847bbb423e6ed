#include "device/cpu/simt/execute/counters/launch_counters.h"

namespace lynxpp::device::cpu {

GlobalAccessCounts& GlobalAccessCounts::operator+=(const GlobalAccessCounts& other) {
  requests += other.requests;
  sectors += other.sectors;
  bytes += other.bytes;
  return *this;
}

SharedAccessCounts& SharedAccessCounts::operator+=(const SharedAccessCounts& other) {
  accesses += other.accesses;
  wavefronts += other.wavefronts;
  least_wavefronts += other.least_wavefronts;
  return *this;
}

OperationCounts& OperationCounts::operator+=(const OperationCounts& other) {
  tensor_copies += other.tensor_copies;
  tensor_bytes += other.tensor_bytes;
  expected_bytes += other.expected_bytes;
  completed_waits += other.completed_waits;
  tensor_core_operations += other.tensor_core_operations;
  operand_matrices += other.operand_matrices;
  operand_wavefronts += other.operand_wavefronts;
  copy_wavefronts += other.copy_wavefronts;
  return *this;
}

WordCounters& WordCounters::operator+=(const WordCounters& other) {
  for (const auto& [word, count] : other.global) global[word] += count;
  for (const auto& [word, count] : other.shared) shared[word] += count;
  return *this;
}

}  // namespace lynxpp::device::cpu
