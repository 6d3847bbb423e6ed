#include "kernel_fixture.h"

#include <gtest/gtest.h>

namespace lynxpp::device::cpu::test {

std::string with_header(const std::string& body) {
  return ".version 8.8\n.target sm_90\n.address_size 64\n" + body;
}

std::shared_ptr<LoadedModule> load(const std::string& body) {
  Result<std::shared_ptr<LoadedModule>> module = load_module(with_header(body), "test.ptx");
  if (!module) {
    ADD_FAILURE() << render(module.error().diagnostics);
    return nullptr;
  }
  return *module;
}

std::string text_of(const Status& status) {
  return status ? std::string() : render(status.error().diagnostics);
}

BlockCounters counters_of(const LaunchCounters& counters, const std::string& function, std::uint32_t block) {
  for (const BlockCounters& candidate : counters.blocks) {
    if (candidate.function == function && candidate.block == block) return candidate;
  }
  return {};
}

}  // namespace lynxpp::device::cpu::test
