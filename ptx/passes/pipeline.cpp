#include "ptx/passes/pipeline.h"

#include "ptx/passes/counting/emit/count.h"
#include "ptx/passes/counting/plan.h"
#include "ptx/passes/counting/plan_text.h"
#include "ptx/passes/memory/index_checks.h"
#include "ptx/passes/memory/lane_values.h"
#include "ptx/passes/memory/sites.h"
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
// extra argument right before each call; then whole items go.
constexpr PassDescription passes[] = {
    {"memory-sites", find_memory_sites, "plan: at which accesses banks and sectors are measured",
     memory_sites_text},
    {"count-plan", plan_counting, "plan: which few numbers are counted, and how all others follow from them",
     count_plan_text},
    {"share-variables", replace_shared_variables, "names of the program's variables become their addresses"},
    {"keep-rounding", keep_rounding, "debug code: sums and products stay apart"},
    {"count", write_counters, "counters on few edges of the control flow"},
    {"index-checks", write_index_checks, "marks launches in which an index wrapped around"},
    {"lane-values", write_lane_values,
     "what lanes find out about their addresses' differences, before many accesses"},
    {"splice", splice_probes, "probes at their places"},
    {"keep-contraction", keep_contraction, "products and sums that a probe parted are fused as they were"},
    {"bit-tests", rewrite_bit_tests,
     "many tests of a register's bits leave a predicate register free for votes"},
    {"shared-addresses", store_shared_addresses, "where the kernel's shared variables lie is written down"},
    {"shared-counters", add_shared_counters,
     "counters in shared memory are cleared, and added up by the last to leave"},
    {"hoist", hoist_special_registers,
     "what never changes for a thread and probes in loops read, once at the entry"},
    {"hidden-parameter", add_hidden_parameter,
     "the kernel's parameter for the probes, and the frame of device functions"},
    {"extract", extract_kernel,
     "what the kernel does not need goes; version, target and the probes' variables"},
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
