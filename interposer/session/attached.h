// The specifications that are attached at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cod/specification.h"
#include "engine/instrument.h"
#include "instrumentors/catalogue.h"
#include "interposer/results/emitted.h"
#include "interposer/results/launched_words.h"
#include "support/result.h"
#include "support/text.h"

namespace lynxpp::interposer {

/// A set of specifications, shared by the launches made while it was attached.
struct Attached {
  std::vector<engine::SpecificationPtr> specifications;
  std::vector<std::string> names;           ///< names of `specifications`
  std::vector<std::uint64_t> every_launch;  ///< for each specification: launches sampled, every n-th
  std::vector<std::shared_ptr<const cod::HostReport>> reports;
  bool counts_shared_memory = false;
  bool emits_addresses = false;
  bool adds_up = true;  ///< launches can share counters: are_sums() of all specifications
  // Guarded by the lock on records: host variables, and whether a launch has been reported.
  mutable std::vector<std::vector<std::byte>> host;
  mutable bool has_launches = false;

  /// True if launches are trials (Configuration::trials).
  bool is_of_trials() const { return specifications.empty(); }

  /// True if some specification wants a kernel's launch with this number.
  bool samples(std::uint64_t launch) const {
    return is_of_trials() || std::any_of(every_launch.begin(), every_launch.end(),
                                         [&](std::uint64_t every) { return launch % every == 0; });
  }

  /// Adds all specifications of the list. Returns an error message; empty on success.
  std::string add_all(const std::string& list) {
    if (trim(list).empty()) return {};
    const Result<std::vector<instrumentors::LoadedSpecification>> loaded = instrumentors::parse_list(list);
    if (!loaded) return render(loaded.error().diagnostics);
    for (const instrumentors::LoadedSpecification& item : *loaded) {
      if (Status added = add(item); !added) return render(added.error().diagnostics, item.source);
    }
    return {};
  }

  Status add(const instrumentors::LoadedSpecification& item) {
    Result<engine::SpecificationPtr> specification = cod::compile(item.source, item.path);
    if (!specification) return specification.error();
    Result<std::shared_ptr<const cod::HostReport>> compiled = (*specification)->compile_host();
    if (!compiled) return compiled.error();
    every_launch.push_back((*specification)->sampling().launches);
    names.push_back((*specification)->name());
    emits_addresses |= (*specification)->emits_addresses();
    adds_up &= are_sums(**specification);
    specifications.push_back(std::move(*specification));
    host.push_back((*compiled)->initial_state());
    reports.push_back(std::move(*compiled));
    counts_shared_memory = LaunchedWords::count_shared_memory(specifications);
    return success();
  }
};

}  // namespace lynxpp::interposer
