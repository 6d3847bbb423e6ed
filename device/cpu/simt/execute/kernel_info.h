// Parameters and resources of a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/cpu/simt/execute/launch_shape.h"

namespace lynxpp::device::cpu {

/// Parameter layout of a kernel and resources of its launches.
struct KernelInfo {
  std::string name;
  struct Parameter {
    std::uint32_t offset = 0, bytes = 0;
  };
  std::vector<Parameter> parameters;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t parameter_alignment = 1;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;
  std::uint32_t max_threads = 1024;
  std::uint32_t registers = 0;         ///< PTX virtual registers, for cudaFuncGetAttributes
  std::optional<Dim3> cluster = {};    ///< .reqnctapercluster: required cluster extents
  bool needs_cluster = false;          ///< .explicitcluster
  std::uint32_t max_cluster_rank = 0;  ///< .maxclusterrank; 0 if absent
};

}  // namespace lynxpp::device::cpu
