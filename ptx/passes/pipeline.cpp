#include "ptx/passes/pipeline.h"

#include <memory>
#include <utility>

#include "ptx/passes/counting/emit/count.h"
#include "ptx/passes/counting/plan_text.h"
#include "ptx/passes/counting/planner.h"
#include "ptx/passes/memory/index_checks.h"
#include "ptx/passes/memory/lane_values.h"
#include "ptx/passes/memory/site_plan.h"
#include "ptx/passes/memory/word_plan.h"
#include "ptx/passes/module/bit_tests.h"
#include "ptx/passes/module/extract.h"
#include "ptx/passes/module/hidden_parameter.h"
#include "ptx/passes/module/keep_contraction.h"
#include "ptx/passes/module/share_variables.h"
#include "ptx/passes/module/shared_addresses.h"
#include "ptx/passes/module/shared_counters.h"
#include "ptx/passes/probes/splice.h"

namespace lynxpp::ptx {
namespace {

// Adapters: each selects what its pass reads and writes.

Status word_plan(InstrumentationUnit& unit) {
  SharedAddresses& shared = unit.words.shared;
  if (!shared.variables.empty()) shared.slot = unit.hidden.add({HiddenSlot::Kind::shared_addresses});
  return success();
}

std::string text_of_word_plan(const InstrumentationUnit& unit) {
  return word_plan_text(unit.words, unit.spliced.probes);
}

Status memory_sites(InstrumentationUnit& unit) {
  unit.memory = find_memory_sites(unit.reached, unit.spliced.probes, !unit.counting.is_wide);
  return success();
}

std::string text_of_memory_sites(const InstrumentationUnit& unit) {
  return memory_sites_text(unit.memory, unit.reached);
}

Status count_plan(InstrumentationUnit& unit) {
  KernelCounting& counting = unit.counting;
  if (counting.request.uses.empty()) return success();
  Result<std::shared_ptr<const CountPlan>> plan =
      plan_counting({unit.module, unit.reached, unit.spliced.probes, unit.options.without,
                     unit.variant.target.sm, counting.is_wide, unit.options.has_few_registers},
                    counting.request);
  if (!plan) return plan.error();
  counting.plan = std::move(*plan);
  if (counting.plan->slots_in_use != 0) counting.slot = unit.hidden.add({HiddenSlot::Kind::counters});
  return success();
}

std::string text_of_count_plan(const InstrumentationUnit& unit) {
  return unit.counting.plan == nullptr ? "" : count_plan_text(*unit.counting.plan, unit.reached);
}

Status share_variables(InstrumentationUnit& unit) {
  replace_shared_variables(unit.module, unit.reached, unit.variant.shared_variables, unit.edits);
  return success();
}

Status contraction(InstrumentationUnit& unit) {
  if (unit.options.assembler_contracts) keep_contraction(unit.module, unit.reached, unit.edits);
  return success();
}

Status bit_tests(InstrumentationUnit& unit) {
  rewrite_bit_tests(unit.module, unit.reached, unit.edits);
  return success();
}

Status shared_addresses(InstrumentationUnit& unit) {
  store_shared_addresses(unit.reached, unit.words.shared, unit.edits);
  return success();
}

Status shared_counters(InstrumentationUnit& unit) {
  add_shared_counters(unit.reached.kernel(), unit.words.block, unit.edits);
  return success();
}

Status extract(InstrumentationUnit& unit) {
  return extract_kernel(unit.module, unit.reached, unit.spliced, unit.variant, unit.edits);
}

}  // namespace

// Order: planning passes, which add no code; addresses (see share_variables.h); counters and probes; the
// extra call argument, inserted directly before each call; finally the removal of unreached items.
std::span<const PassDescription> pass_table() {
  using enum EditState;
  static constexpr PassDescription passes[] = {
      {"word-plan", word_plan, unchanged, "plan: how memory words are counted", text_of_word_plan},
      {"memory-sites", memory_sites, unchanged, "plan: accesses at which banks and sectors are measured",
       text_of_memory_sites},
      {"count-plan", count_plan, unchanged,
       "plan: the counters, and how all requested counts follow from them", text_of_count_plan},
      {"share-variables", share_variables, readable,
       "replaces names of the program's variables by their addresses"},
      {"count", write_counters, readable, "adds counters to a few control-flow edges"},
      {"index-checks", write_index_checks, readable, "marks launches in which an index wrapped around"},
      {"lane-values", write_lane_values, readable,
       "computes the lanes' address differences once for many accesses"},
      {"splice", splice_probes, readable, "copies the probes' routines to their sites"},
      {"keep-contraction", contraction, readable,
       "fuses products and sums that a probe separates, as in the original; none in debug code"},
      {"bit-tests", bit_tests, readable,
       "rewrites bit tests so that ptxas keeps a predicate register free for votes"},
      {"shared-addresses", shared_addresses, readable,
       "stores the addresses of the program's shared variables"},
      {"shared-counters", shared_counters, readable,
       "counters in shared memory: cleared at entry, flushed by the last lanes to exit"},
      {"hidden-parameter", add_hidden_parameter, readable,
       "adds the kernel's hidden parameter and the frame of device functions"},
      {"extract", extract, complete,
       "removes unneeded items; sets the version, target and probes' variables"},
  };
  return passes;
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const PassDescription& description : pass_table()) names.push_back(description.name);
  return names;
}

PassManager make_pipeline() {
  PassManager manager;
  for (const PassDescription& description : pass_table())
    manager.add(description.name, description.leaves, description.run);
  return manager;
}

}  // namespace lynxpp::ptx
