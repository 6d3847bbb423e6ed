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
    {make_memory_sites_pass, "plan: at which accesses banks and sectors are measured", memory_sites_text},
    {make_count_plan_pass, "plan: which few numbers are counted, and how all others follow from them",
     count_plan_text},
    {make_share_variables_pass, "names of the program's variables become their addresses"},
    {make_keep_rounding_pass, "debug code: sums and products stay apart"},
    {make_count_pass, "counters on few edges of the control flow"},
    {make_index_checks_pass, "marks launches in which an index wrapped around"},
    {make_lane_values_pass, "what lanes find out about their addresses' differences, before many accesses"},
    {make_splice_pass, "probes at their places"},
    {make_keep_contraction_pass, "products and sums that a probe parted are fused as they were"},
    {make_bit_tests_pass, "many tests of a register's bits leave a predicate register free for votes"},
    {make_shared_addresses_pass, "where the kernel's shared variables lie is written down"},
    {make_shared_counters_pass, "counters in shared memory are cleared, and added up by the last to leave"},
    {make_hoist_pass, "what never changes for a thread and probes in loops read, once at the entry"},
    {make_hidden_parameter_pass, "the kernel's parameter for the probes, and the frame of device functions"},
    {make_extract_pass, "what the kernel does not need goes; version, target and the probes' variables"},
};

}  // namespace

std::span<const PassDescription> pass_table() { return passes; }

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const PassDescription& description : passes) names.push_back(description.make()->name());
  return names;
}

PassManager make_pipeline() {
  PassManager manager;
  for (const PassDescription& description : passes) manager.add(description.make());
  return manager;
}

}  // namespace lynxpp::ptx
