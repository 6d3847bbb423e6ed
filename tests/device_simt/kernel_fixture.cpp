#include "kernel_fixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace lynxpp::device::cpu::test {
namespace {

/// Returns LYNXPP_TEST_LAUNCHES: "counted" or "checked" if plain launches are to be counted or checked.
std::string_view wanted_launches() {
  const char* const value = std::getenv("LYNXPP_TEST_LAUNCHES");
  return value != nullptr ? value : "";
}

/// A module whose plain launches are also counted or checked.
class WatchedModule final : public LoadedModule {
 public:
  explicit WatchedModule(std::shared_ptr<LoadedModule> module) : module_(std::move(module)) {}

  std::vector<std::string> kernel_names() const override { return module_->kernel_names(); }
  Result<KernelInfo> kernel(const std::string& name) override { return module_->kernel(name); }
  std::optional<VariableStorage> variable(const std::string& name) override {
    return module_->variable(name);
  }
  std::vector<std::pair<std::string_view, VariableStorage>> variables() override {
    return module_->variables();
  }
  Status compile(const std::string& kernel, CodeKind kind) override { return module_->compile(kernel, kind); }
  Status launch(const std::string& kernel, const LaunchShape& shape, std::span<const std::byte> parameters,
                LaunchCounters* counters, LaunchClock* clock, LaunchChecks* checks) override {
    LaunchCounters own_counters;
    LaunchChecks own_checks{.selection = {.memory = true, .race = true, .init = true, .sync = true}};
    const bool is_plain = counters == nullptr && clock == nullptr && checks == nullptr;
    if (is_plain && wanted_launches() == "counted") counters = &own_counters;
    if (is_plain && wanted_launches() == "checked") checks = &own_checks;
    return module_->launch(kernel, shape, parameters, counters, clock, checks);
  }

 private:
  std::shared_ptr<LoadedModule> module_;
};

}  // namespace

std::string with_header(const std::string& body) {
  return ".version 8.8\n.target sm_90\n.address_size 64\n" + body;
}

std::shared_ptr<LoadedModule> load(const std::string& body) {
  Result<std::shared_ptr<LoadedModule>> module = load_module(with_header(body), "test.ptx");
  if (!module) {
    ADD_FAILURE() << render(module.error().diagnostics);
    return nullptr;
  }
  if (wanted_launches().empty()) return *module;
  return std::make_shared<WatchedModule>(*module);
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
