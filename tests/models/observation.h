// Builds observations by hand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/accesses.h"

namespace lynxpp::models {

struct ObservationBuilder {
  Observation observation;

  ObservationBuilder(std::uint32_t blocks, std::uint32_t threads) {
    observation.kernel = "kernel()";
    observation.grid[0] = blocks;
    observation.block[0] = threads;
    observation.first_blocks = blocks;
    for (std::uint64_t i = 0; i < blocks; ++i) observation.blocks.push_back(i);
  }

  std::uint32_t site(const std::string& opcode, AccessKind kind = AccessKind::read) {
    AccessSite site;
    site.opcode = opcode;
    site.kind = kind;
    site.file = "src/kernel.cu";
    site.line = 10 + static_cast<std::uint32_t>(observation.sites.size());
    site.reference = static_cast<std::uint32_t>(observation.sites.size());
    observation.sites.push_back(site);
    return site.reference;
  }

  struct By {
    std::uint64_t block = 0;
    std::uint32_t warp = 0;
    std::uint32_t lanes = 0xffffffff;
    std::uint32_t bytes = 4;
  };
  /// Lane i accesses begin + i * stride.
  WarpAccess& access(std::uint32_t site, By by, std::uint64_t begin, std::uint64_t stride) {
    WarpAccess access;
    access.site = site;
    access.block = by.block;
    access.warp = by.warp;
    access.lanes = by.lanes;
    access.bytes = by.bytes;
    access.is_shared = observation.sites[site].opcode.find("shared") != std::string::npos;
    access.writes = observation.sites[site].kind != AccessKind::read;
    access.first = observation.addresses.size();
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((by.lanes >> lane & 1) != 0) observation.addresses.push_back(begin + lane * stride);
    }
    observation.accesses.push_back(access);
    return observation.accesses.back();
  }
};

}  // namespace lynxpp::models
