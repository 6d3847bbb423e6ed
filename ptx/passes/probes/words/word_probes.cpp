#include "ptx/passes/probes/words/word_probes.h"

#include "ptx/passes/probes/loop_edges.h"

namespace lynxpp::ptx {

void WordProbes::add_block_start(std::uint32_t block, CodeBuilder& code) {
  for (const auto& [id, kept] : sites_.kept()) {
    if (begins_after(function_.graph(), function_.analyses->loops(), kept.site.loop, block))
      add_kept(kept, block, code);
  }
}

bool WordProbes::add(Probe& probe, std::uint32_t block, const Instruction& instruction, CodeBuilder& code) {
  const CountedAccess access{number_of(unit_, probe), index_of(function_, instruction)};
  const Site site = copies_.site_at(probe, block, instruction);
  return add_by_counters(probe, access, site, code) || add_by_site(probe, site, code);
}

bool WordProbes::add_by_counters(Probe& probe, CountedAccess access, const Site& site, CodeBuilder& code) {
  const WordCounters::Group* const counted = counters_.counted_before(access);
  if (counted == nullptr || counted->empty()) return counted != nullptr;
  CodeOperand address = 0;
  if (!counted->front().base) {
    copies_.values().add_preparation(probe, site, code);
    address = copies_.values().operand(probe, "memory_address", site);
  }
  CodeBuilder routines(names_);
  for (const WordCounters::WordAddress& each : *counted)
    copies_.add_prepared(probe, copies_.site_at(probe, site.block, body_.instructions[each.instruction]),
                         routines);
  counters_.add(access.first, *counted, address, routines.take(), code);
  return true;
}

bool WordProbes::add_by_site(Probe& probe, const Site& site, CodeBuilder& code) {
  if (probe.effect != ProbeEffect::counts_words) return false;
  const WordSite* const words = sites_.find(copies_.lane_site(site));
  if (words == nullptr) return false;
  if (words->loop != no_loop) {
    ++probe.sites;
    copies_.values().add_preparation(probe, site, code);
    sites_.add_execution(copies_.lane_site(site), copies_.values().operand(probe, "memory_address", site),
                         code);
  } else if (words->threads == WordSite::Threads::of_a_warp) {
    add_of_warp(probe, site, code);
  } else {
    add_of_block(probe, site, code);
  }
  return true;
}

/// One thread counts for its block.
void WordProbes::add_of_block(Probe& probe, Site site, CodeBuilder& code) {
  const Label others = code.fresh_label();
  code.branch_if(!CodePredicate(sites_.is_first_thread()), others);
  site.executions = sites_.threads();
  copies_.add_prepared(probe, site, code);
  code.place(others);
}

/// The lowest lane counts for all active lanes with its address; other lanes count for themselves, in case
/// the hardware converges lanes in different iterations.
void WordProbes::add_of_warp(Probe& probe, Site site, CodeBuilder& code) {
  SiteValues& values = copies_.values();
  values.add_preparation(probe, site, code);
  const WordCountSites::OfWarp warp =
      WordCountSites::of_warp(values.operand(probe, "memory_address", site), code);
  const Label counted = code.fresh_label();
  code.branch_if(CodePredicate(warp.follows), counted);
  site.executions = warp.number;
  copies_.add(probe, site, code);
  code.place(counted);
}

/// Counts what the thread has kept of one access since its loop was entered; nothing if it was not entered.
void WordProbes::add_kept(const WordCountSites::Kept& kept, std::uint32_t block, CodeBuilder& code) {
  const bool is_of_block = kept.site.threads == WordSite::Threads::of_the_block;
  const Label done = code.fresh_label();
  if (is_of_block) code.branch_if(!CodePredicate(sites_.is_first_thread()), done);
  code.branch_if(CodePredicate(code.pred("setp.eq.u32", {kept.executions, 0})), done);
  CodeOperand number = kept.executions;
  if (is_of_block) number = code.b32("mul.lo.u32", {kept.executions, sites_.threads()});
  for (Probe& probe : unit_.spliced.probes) {
    const bool counts =
        probe.effect == ProbeEffect::counts_words && is_at(probe, ProbePoint::instruction, *kept.instruction);
    if (!counts) continue;
    Site site = copies_.site_at(probe, block, *kept.instruction);
    if (site.access != kept.access) continue;
    site.executions = number;
    site.address = kept.address;
    copies_.add_prepared(probe, site, code);
    --probe.sites;  // the access itself was counted as a site
  }
  code.mov(kept.executions, 0);
  code.place(done);
}

void WordProbes::add_before_exit(std::uint32_t block, CodeBuilder& code) {
  for (const auto& [id, kept] : sites_.kept()) {
    if (function_.analyses->loops().contains(kept.site.loop, block)) add_kept(kept, block, code);
  }
}

}  // namespace lynxpp::ptx
