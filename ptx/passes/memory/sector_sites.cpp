#include "ptx/passes/memory/sector_sites.h"

#include <algorithm>
#include <map>
#include <set>

#include "ptx/ir/memory_access.h"
#include "ptx/passes/facts.h"

namespace lynxpp::ptx {
namespace {

constexpr std::uint8_t address_bits = 64;
constexpr std::int64_t widest_step = std::int64_t{1} << 40;
constexpr std::int64_t widest_lane_step = std::int64_t{1} << 26;  // times 32 lanes: fits 32 bits

/// Never negative.
std::int64_t in_sector(std::int64_t number) { return number & (sector_bytes - 1); }

/// Sites with equal keys touch the same number of sectors.
struct SectorKey {
  LanePattern pattern;
  std::uint32_t block = 0;
  /// the address modulo 32: coefficients and constant; empty if irrelevant
  std::vector<Term> offset;
  std::int64_t constant = 0;
  auto operator<=>(const SectorKey&) const = default;
};

class SectorSitesOfFunction {
 public:
  SectorSitesOfFunction(const FunctionUnit& function, std::uint32_t index, const Probe& probe,
                        std::uint32_t number, bool follows_indices, MemorySites& memory)
      : function_(function),
        analyses_(*function.analyses),
        index_(index),
        number_(number),
        probe_(probe),
        follows_indices_(follows_indices),
        memory_(memory) {}

  void run() {
    const auto& instructions = function_.function->body->instructions;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      if (probe_.matches(instructions[i])) add(i, instructions[i]);
    }
  }

 private:
  void add(std::uint32_t index, const Instruction& instruction) {
    const std::optional<MemoryAccess> access = probe_.access_at(instruction);
    if (!access || !access->follows_from_lanes()) return;
    const bool is_alone = memory_accesses(instruction).count == 1 && !access->selects_lanes();
    const std::optional<LanePattern> pattern =
        is_alone ? pattern_of(index, *access->address) : std::optional<LanePattern>();
    if (!pattern || pattern->bits != address_bits) return add_step(index, *access->address);
    const std::uint32_t id = function_.first_instruction + index;
    MemorySite& site = memory_.at(number_, id);
    site.pattern = *pattern;
    if (pattern->terms.empty()) {
      site.measured_at.reset();
      return;
    }
    if (instruction.guarded()) return;
    SectorKey key{*pattern, function_.graph().block_of[index], {}, 0};
    site.is_even = lies_evenly(index, key);
    if (!site.is_even && !find_offset(index, key)) return;
    const auto [first, is_new] = first_.try_emplace(key, id);
    if (!is_new) site.measured_at = first->second;
    if (is_new && follows_indices_ && is_once(key)) expect_rows(site, key, access->bytes);
  }

  void add_step(std::uint32_t index, const Operand& address) {
    if (!follows_indices_ || !analyses_.launch().has_whole_rows) return;
    std::optional<LaneStep> step = analyses_.lane_patterns().step_of_some_lanes(index, address);
    if (!step || step->bytes < 0 || step->bytes > widest_lane_step) return;
    memory_.at(number_, function_.first_instruction + index).lane_step = step->bytes;
    add_checks(step->checks);
  }

  void add_checks(const std::vector<IndexCheck>& checks) {
    if (!checks.empty()) memory_.index_checks[index_].insert(checks.begin(), checks.end());
  }

  /// True if a warp makes the access at most once, and the hardware makes it with all lanes that ever do.
  bool is_once(const SectorKey& key) {
    if (!function_.function->is_entry || analyses_.loops().depth_of(key.block) != 0) return false;
    const LanePatterns& patterns = analyses_.lane_patterns();
    const std::uint32_t begin = key.pattern.block;
    if (patterns.is_converged(begin)) return true;
    const std::uint32_t before = analyses_.dominators().immediate(begin);
    return begin == key.block && before != no_block && patterns.is_converged(before) &&
           function_.graph().blocks[begin].predecessors.size() == 1;
  }

  static void expect_rows(MemorySite& site, const SectorKey& key, std::uint32_t bytes) {
    RowSectors rows;
    for (const LaneTerm& term : key.pattern.terms) {
      if (term.kind != LaneTerm::Kind::thread_index) return;
      if (term.id == 0) rows.step = term.coefficient;
    }
    rows.is_anywhere = in_sector(rows.step) == 0;
    rows.offset = rows.is_anywhere ? 0 : static_cast<std::uint32_t>(key.constant);
    // Odd values represent warps that are not rows; wider steps need not be computed here.
    const bool is_even = rows.step % 2 == 0 && rows.offset % 2 == 0 && bytes >= 2;
    const bool has_offset = rows.is_anywhere || !site.is_even;
    if (!is_even || !has_offset || rows.step > widest_step || rows.step < -widest_step) return;
    std::set<std::int64_t> sectors;
    for (std::int64_t lane = 0; lane < 32; ++lane) sectors.insert((rows.offset + lane * rows.step) >> 5);
    rows.sectors = static_cast<std::uint32_t>(sectors.size());
    site.rows = rows;
  }

  std::optional<LanePattern> pattern_of(std::uint32_t index, const Operand& address) {
    const LanePatterns& patterns = analyses_.lane_patterns();
    std::optional<IndexPattern> followed =
        follows_indices_ ? patterns.of_index(index, address) : std::nullopt;
    if (!followed) return patterns.of_address(index, address);
    add_checks(followed->checks);
    return followed->pattern;
  }

  /// True if lanes that share a sector have the same address.
  bool lies_evenly(std::uint32_t index, const SectorKey& key) {
    const auto is_whole = [](const LaneTerm& term) { return in_sector(term.coefficient) == 0; };
    if (std::ranges::all_of(key.pattern.terms, is_whole)) return true;
    const std::optional<AffineForm> address = analyses_.affine().of_address(index);
    const auto is_even = [&](const Term& term) {
      return in_sector(term.coefficient) == 0 || is_common(term.product, key);
    };
    return address && address->bits == address_bits && std::ranges::all_of(address->terms, is_even);
  }

  bool find_offset(std::uint32_t index, SectorKey& key) {
    const std::optional<AffineForm> address = analyses_.affine().of_address(index);
    if (!address || address->bits != address_bits) return false;
    for (const Term& term : address->terms) {
      if (in_sector(term.coefficient) != 0) key.offset.push_back({term.product, in_sector(term.coefficient)});
    }
    key.constant = in_sector(address->constant);
    return true;
  }

  /// True if the product is uniform over the lanes that make the access together.
  bool is_common(const Product& product, const SectorKey& key) {
    return std::all_of(product.symbols.begin(), product.symbols.begin() + product.degree,
                       [&](SymbolId id) { return is_common(analyses_.affine().symbols()[id], key); });
  }

  bool is_common(const Symbol& symbol, const SectorKey& key) {
    switch (symbol.kind) {
      case SymbolKind::tid: return false;
      case SymbolKind::value:
        return (analyses_.uniformity().of_value_at(symbol.index, key.block) & varies_in_warp) == 0;
      // Lanes that pass the pattern's program point together enter and exit the loop together.
      case SymbolKind::iteration: return !analyses_.loops().contains(symbol.index, key.pattern.block);
      default: return true;
    }
  }

  const FunctionUnit& function_;
  FunctionAnalyses& analyses_;
  const std::uint32_t index_;   ///< of the function
  const std::uint32_t number_;  ///< of the probe
  const Probe& probe_;
  const bool follows_indices_;
  MemorySites& memory_;
  std::map<SectorKey, std::uint32_t> first_;
};

}  // namespace

void find_sector_sites(const FunctionUnit& function, std::uint32_t index, const Probe& probe,
                       std::uint32_t number, bool follows_indices, MemorySites& memory) {
  SectorSitesOfFunction(function, index, probe, number, follows_indices, memory).run();
}

}  // namespace lynxpp::ptx
