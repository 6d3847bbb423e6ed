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

// Order: planning, which adds no code; addresses (see share_variables.h); counters and probes; the calls'
// extra argument right before each call; last, whole items are removed.
constexpr PassDescription passes[] = {
    {"word-plan", plan_words, "plan: how words of memory are counted", word_plan_text},
    {"memory-sites", find_memory_sites, "plan: at which accesses banks and sectors are measured",
     memory_sites_text},
    {"count-plan", plan_counting, "plan: which few numbers are counted, and how all others follow from them",
     count_plan_text},
    {"share-variables", replace_shared_variables, "names of the program's variables become their addresses"},
    {"keep-rounding", keep_rounding, "debug code: sums and products get a rounding mode, so none is fused"},
    {"count", write_counters, "counters on few edges of the control flow"},
    {"index-checks", write_index_checks, "marks launches in which an index wrapped around"},
    {"lane-values", write_lane_values,
     "differences of the lanes' addresses, computed once for many accesses"},
    {"splice", splice_probes, "copies of the probes' routines at their sites"},
    {"keep-contraction", keep_contraction,
     "products and sums that a probe separates are fused as in the original"},
    {"bit-tests", rewrite_bit_tests,
     "bit tests are written so that ptxas has a predicate register free for votes"},
    {"shared-addresses", store_shared_addresses, "addresses of the program's shared variables are stored"},
    {"shared-counters", add_shared_counters,
     "counters in shared memory: cleared at entry, flushed by the last lanes to exit"},
    {"hoist", hoist_special_registers,
     "special registers that added code reads in loops are read once, at the entry"},
    {"hidden-parameter", add_hidden_parameter,
     "the kernel's parameter for the probes, and the frame of device functions"},
    {"extract", extract_kernel,
     "removes what the kernel does not need; sets version, target, probes' variables"},
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
