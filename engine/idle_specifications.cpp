#include "engine/instrument.h"

namespace lynxpp::engine {

std::vector<std::string> idle_specifications(const Request& request, const Instrumented& instrumented) {
  std::vector<std::string> idle;
  std::size_t next = 0;
  for (const SpecificationPtr& specification : request.specifications) {
    std::size_t handlers = 0;
    std::uint64_t sites = 0;
    for (const cod::Handler& handler : specification->handlers()) {
      const std::uint64_t here = instrumented.sites_per_handler.at(next++);
      const bool has_sites =
          handler.target != cod::TargetKind::kernel_entry && handler.target != cod::TargetKind::kernel_exit;
      handlers += has_sites ? 1 : 0;
      sites += has_sites ? here : 0;
    }
    if (handlers != 0 && sites == 0) idle.push_back(specification->name());
  }
  return idle;
}

}  // namespace lynxpp::engine
