// The functions that lynxpp.h finds in the process.
#include "interposer/lynxpp.h"
#include "interposer/preload/engine_client.h"
#include "interposer/preload/process.h"

namespace lynxpp::preload {
namespace {

int attach_these(const char* specifications) {
  keep_results();
  const bool wanted = specifications != nullptr && *specifications != '\0';
  // Opened now, so that errors are reported now.
  if (wanted && open_engine("lynxpp_attach fails") == nullptr) return 0;
  specifications_changed(specifications);
  return attached() == wanted ? 1 : 0;
}

int is_attached() { return attached() ? 1 : 0; }

size_t take_finished(lynxpp_take take, void* context) {
  keep_results();
  const lynxpp_engine* const engine = usable_engine();
  if (engine == nullptr) return 0;
  {
    const Passthrough passthrough;
    engine->collect();
  }
  // Launches by `take` count as the program's.
  return engine->take_results(take, context);
}

uint64_t missed_results() {
  const lynxpp_engine* const engine = usable_engine();
  return engine != nullptr ? engine->missed_results() : 0;
}

constexpr lynxpp_api api{LYNXPP_API_VERSION, &attach_these, &is_attached, &take_finished, &missed_results};

}  // namespace
}  // namespace lynxpp::preload

extern "C" [[gnu::visibility("default")]] const lynxpp_api* lynxpp_open_api(uint32_t version) {
  const bool is_there = version <= LYNXPP_API_VERSION && !lynxpp::preload::has_raised_rights;
  return is_there ? &lynxpp::preload::api : nullptr;
}
