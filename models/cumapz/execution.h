// Runs a description's references, thread block by thread block, and aggregates the memory traffic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cumapz/description.h"
#include "models/cumapz/traffic.h"
#include "models/machine.h"

namespace lynxpp::models::cumapz {

/// Totals of one fetch, read or write of the description, over all blocks.
struct ReferenceTotals {
  Position position;
  std::string text;  ///< "in[at + 1]"
  Statement::Kind kind = Statement::Kind::read;
  std::int64_t warps = 0;     ///< warp executions
  std::int64_t diverged = 0;  ///< warp executions with some lanes' data in shared memory and others' not
  std::int64_t accesses = 0;  ///< thread accesses to arrays in global memory, textures and constants
  std::int64_t hits = 0;      ///< accesses whose data is in shared memory
  /// Fetched bytes that are used: by hits, and by reads of shared memory itself.
  std::int64_t reused_bytes = 0;
  GlobalTraffic global;
  SharedTraffic shared;
  CachedTraffic cached;
};

/// Distribution over the channels of one reference in the blocks that start together, in all their rounds.
struct ChannelUse {
  std::vector<std::int64_t> blocks;  ///< number of blocks that access each channel
  std::int64_t bytes = 0;            ///< transferred
};

struct Totals {
  std::vector<ReferenceTotals> references;
  std::vector<ChannelUse> channel_uses;  ///< empty if there are too few blocks or addresses are hashed
  std::int64_t arithmetic = 0;           ///< warp instructions of `arithmetic`
  std::vector<Footprint> read, written;  ///< by array in global memory
  /// Waits of blocks for global memory: fetches with no read of shared memory between them are one wait, all
  /// other reads of the block are one, except that the iterations of loops follow from references.
  std::int64_t waits = 0;
  std::int64_t blocks_checked = 0;      ///< equation 4
  std::int64_t blocks_run = 0;          ///< number of representatives; all others repeat one of these
  std::int64_t other_instructions = 0;  ///< warp instructions other than references and `arithmetic`
  double part = 1;                      ///< share of the grid's blocks that the counts cover
  std::int64_t blocks = 0;              ///< of the grid
  std::int64_t warps = 1;               ///< of each block
  Occupancy occupancy;
};

/// Equation 4, rounded up, at least one block per channel; `element_bytes` is that of the largest element.
std::int64_t blocks_to_check(const Machine& machine, const Occupancy& occupancy, std::int64_t block_x,
                             std::int64_t element_bytes);

/// Executes one statement in all threads of a block before the next, as if separated by barriers. Each
/// reference finds in shared memory the elements that a fetch of its block has written there, until another
/// fetch replaces them; so does a write; among several copies, a thread prefers its own fetch, then the last
/// one. A texture's lines stay in the block's share of the cache. Fails with a location for an index outside
/// a shared array, a division by zero, a loop of more than a million iterations, a block that does not fit
/// the machine, an order that is not a permutation of the blocks, and more than 1,000,000,000 thread steps.
Result<Totals> execute(const Description& description, const Variant& variant, const Machine& machine);

}  // namespace lynxpp::models::cumapz
