#include "ptx/passes/memory/sites.h"

#include "ptx/passes/memory/bank_sites.h"
#include "ptx/passes/memory/sector_sites.h"
#include "ptx/passes/pass.h"

namespace lynxpp::ptx {
namespace {

class FindMemorySites final : public Pass {
 public:
  std::string_view name() const override { return "memory_sites"; }

  Result<bool> run(InstrumentationUnit& unit) override {
    find_bank_sites(unit);
    find_sector_sites(unit, !unit.counting.is_wide);
    return false;
  }
};

}  // namespace

std::unique_ptr<Pass> make_memory_sites_pass() { return std::make_unique<FindMemorySites>(); }

}  // namespace lynxpp::ptx
