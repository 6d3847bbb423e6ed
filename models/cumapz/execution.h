// Runs a description's references, thread block by thread block, and adds up what the memories do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cumapz/description.h"
#include "models/machine.h"

namespace lynxpp::models::cumapz {

struct GlobalTraffic {
  std::int64_t requests = 0;           ///< of warps: some lane went to global memory
  std::int64_t requested_bytes = 0;    ///< what threads asked for; once where lanes want one element
  std::int64_t transferred_bytes = 0;  ///< and what came
  std::int64_t transactions = 0;
  std::int64_t lines = 0;    ///< turns of the L1 cache: lines of 128 bytes that each access group lies in
  std::int64_t sectors = 0;  ///< of 32 bytes that go on to the L2: all of stores, of loads those missed
  std::int64_t partial = 0;  ///< of these, stored by a warp that does not fill all the sectors it stores to
};

struct SharedTraffic {
  std::int64_t requests = 0;  ///< of access groups; fetches' stores are among them
  std::int64_t served = 0;    ///< how many times these were served one after the other
};

/// Of references to textures and to constants.
struct CachedTraffic {
  std::int64_t requested_bytes = 0;  ///< of textures; once where lanes of a group want one element
  std::int64_t moved_bytes = 0;      ///< of textures: lines that the cache did not hold
  std::int64_t requests = 0;         ///< of access groups to constants
  std::int64_t served = 0;           ///< how many elements these asked for, one after the other
};

/// Of one fetch, read or write of the description, over all blocks.
struct ReferenceTotals {
  Position position;
  std::string text;  ///< "in[at + 1]"
  Statement::Kind kind = Statement::Kind::read;
  std::int64_t warps = 0;     ///< executions by warps
  std::int64_t diverged = 0;  ///< of these: some lanes found their data in shared memory, others did not
  std::int64_t accesses = 0;  ///< of threads, to global memory's arrays, textures and constants
  std::int64_t hits = 0;      ///< of these: found in shared memory
  /// Of what fetches brought: those of hits, and of reads of shared memory itself.
  std::int64_t reused_bytes = 0;
  GlobalTraffic global;
  SharedTraffic shared;
  CachedTraffic cached;
};

/// What is touched of one array.
struct Footprint {
  std::int64_t sectors = 0;            ///< that go on to the L2
  std::int64_t least = 0, behind = 0;  ///< addresses, of the first byte and behind the last; equal: none
};

/// How one reference of the blocks that begin together is spread over the channels, in all their rounds.
struct ChannelUse {
  std::vector<std::int64_t> blocks;  ///< that touch each channel
  std::int64_t bytes = 0;            ///< transferred
};

struct Totals {
  std::vector<ReferenceTotals> references;
  std::vector<ChannelUse> channel_uses;  ///< empty: there are too few blocks, or addresses are hashed
  std::int64_t arithmetic = 0;           ///< instructions of warps that `arithmetic` names
  std::vector<Footprint> read, written;  ///< by array of global memory
  /// Of blocks for global memory: fetches with no read of shared memory between them are one, other reads
  /// of the block are one.
  std::int64_t waits = 0;
  std::int64_t blocks_checked = 0;      ///< equation 4
  std::int64_t blocks_run = 0;          ///< the others do the same as one of these
  std::int64_t other_instructions = 0;  ///< of warps, that are neither references nor `arithmetic`
  double part = 1;                      ///< of the grid's blocks that these counts are of
  Occupancy occupancy;
};

/// Equation 4, rounded up and at least one block for each channel; `element_bytes` of the largest element.
std::int64_t blocks_to_check(const Machine& machine, const Occupancy& occupancy, std::int64_t block_x,
                             std::int64_t element_bytes);

/// All threads of a block execute one statement before the next, as behind a barrier. Each reference finds in
/// shared memory what a fetch of its block has brought there, until another fetch takes the place; so does a
/// write; where several fetches brought it, a thread finds what it has fetched itself, else what came last. A
/// texture's lines stay in the block's share of the cache. Fails with a place on an index outside of a shared
/// array, a division by zero, a loop of more than a million rounds, a block that does not fit the machine, an
/// order that is none of all blocks, and more than 1,000,000,000 references and rounds of threads.
Result<Totals> execute(const Description& description, const Variant& variant, const Machine& machine);

}  // namespace lynxpp::models::cumapz
