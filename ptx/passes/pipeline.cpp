#include "ptx/passes/pipeline.h"

#include "ptx/passes/counting/emit/count.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/counting/plan_text.h"
#include "ptx/passes/memory/index_checks.h"
#include "ptx/passes/memory/lane_values.h"
#include "ptx/passes/memory/sites.h"
#include "ptx/passes/memory/word_plan.h"
#include "ptx/passes/module/bit_tests.h"
#include "ptx/passes/module/extract.h"
#include "ptx/passes/module/hidden_parameter.h"
#include "ptx/passes/module/keep_contraction.h"
#include "ptx/passes/module/keep_rounding.h"
#include "ptx/passes/module/share_variables.h"
#include "ptx/passes/module/shared_addresses.h"
#include "ptx/passes/module/shared_counters.h"
#include "ptx/passes/probes/hoist.h"
#include "ptx/passes/probes/splice.h"

namespace lynxpp::ptx {
namespace {

// Order: planning passes, which add no code; addresses (see share_variables.h); counters and probes; the
// extra call argument, inserted directly before each call; finally the removal of unreached items.
constexpr PassDescription passes[] = {
    {"word-plan", plan_words, "plan: how memory words are counted", word_plan_text},
    {"memory-sites", find_memory_sites, "plan: accesses at which banks and sectors are measured",
     memory_sites_text},
    {"count-plan", plan_counting, "plan: the counters, and how all requested counts follow from them",
     count_plan_text},
    {"share-variables", replace_shared_variables,
     "replaces names of the program's variables by their addresses"},
    {"keep-rounding", keep_rounding,
     "debug code: adds a rounding mode to sums and products, so none is fused"},
    {"count", write_counters, "adds counters to a few control-flow edges"},
    {"index-checks", write_index_checks, "marks launches in which an index wrapped around"},
    {"lane-values", write_lane_values, "computes the lanes' address differences once for many accesses"},
    {"splice", splice_probes, "copies the probes' routines to their sites"},
    {"keep-contraction", keep_contraction,
     "fuses products and sums that a probe separates, as in the original"},
    {"bit-tests", rewrite_bit_tests,
     "rewrites bit tests so that ptxas keeps a predicate register free for votes"},
    {"shared-addresses", store_shared_addresses, "stores the addresses of the program's shared variables"},
    {"shared-counters", add_shared_counters,
     "counters in shared memory: cleared at entry, flushed by the last lanes to exit"},
    {"hoist", hoist_special_registers,
     "reads special registers that added code uses in loops once, at the entry"},
    {"hidden-parameter", add_hidden_parameter,
     "adds the kernel's hidden parameter and the frame of device functions"},
    {"extract", extract_kernel, "removes unneeded items; sets the version, target and probes' variables"},
};

}  // namespace

std::span<const PassDescription> pass_table() { return passes; }

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const PassDescription& description : passes) names.push_back(description.name);
  return names;
}

PassManager make_pipeline() {
  PassManager manager;
  for (const PassDescription& description : passes) manager.add(description.name, description.run);
  return manager;
}

}  // namespace lynxpp::ptx
