#include "models/clock/device.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

namespace lynxpp::models::clock {
namespace {

constexpr std::size_t barrier_numbers = 16;

struct WarpState {
  Steps steps;
  std::size_t next = 0;
  std::uint32_t slot = 0;
  std::uint32_t index = 0;    ///< in its block
  std::vector<double> reads;  ///< completion times of outstanding reads
  std::uint32_t left = 0;     ///< transactions of the access that are not sent yet
  Step access;                ///< the access that `left` belongs to
  bool has_turn = false;      ///< for sending the next transaction
  double access_end = 0;
};

struct Meeting {
  std::uint32_t arrived = 0;
  std::uint64_t expected = 0;
  std::vector<std::uint32_t> waiting;
};

struct BlockState {
  std::uint64_t number = 0;
  std::uint32_t live = 0;  ///< warps that have not exited
  std::array<Meeting, barrier_numbers> barriers;
  std::vector<std::uint32_t> waiting;  ///< warps that wait for another warp of the block
};

struct Multiprocessor {
  std::vector<double> scheduler_free_at;
  double port_free_at = 0;  ///< port to global memory
  std::size_t turns = 0;    ///< turns assigned at the port and not yet used
  double shared_free_at = 0;
  std::priority_queue<double, std::vector<double>, std::greater<>> in_flight;  ///< completion times
};

struct Event {
  double time = 0;
  std::uint64_t order = 0;
  std::uint32_t warp = 0;
  bool operator>(const Event& other) const {
    return time != other.time ? time > other.time : order > other.order;
  }
};

class Simulation {
 public:
  Simulation(const Machine& machine, Memory& memory, const KernelShape& shape, Grid& grid)
      : machine_(machine), timing_(*machine.timing), memory_(memory), shape_(shape), grid_(grid) {}

  Result<KernelTime> run();

 private:
  /// Time at which the warp continues; nullopt: it waits for another warp, has exited, or failure_ is set.
  using Next = std::optional<double>;

  void prepare();
  Multiprocessor& home_of(const WarpState& warp) {
    return multiprocessors_[warp.slot / shape_.resident_blocks];
  }
  bool fill_slot(std::uint32_t slot, double time);
  void schedule(std::uint32_t warp, double time) { events_.push({time, order_++, warp}); }
  void go_on(std::uint32_t warp, double time);
  Next step(std::uint32_t warp, double time);
  Next ask(std::uint32_t warp, double time);
  void end_warp(WarpState& warp, double time);
  void wake(BlockState& block, double time);
  Next issue(WarpState& warp, const Step& step, double time);
  Next transaction(WarpState& warp, double time);
  Next shared(WarpState& warp, const Step& step, double time);
  Next wait(WarpState& warp, const Step& step, double time);
  Next barrier(std::uint32_t warp, const Step& step, double time);
  void open(BlockState& block, Meeting& meeting, double time);
  void count_request(const WarpState& warp, const Step& access);
  void count(const WarpState& warp, const Step& transaction, double time);

  const Machine& machine_;
  const Timing& timing_;
  Memory& memory_;
  const KernelShape& shape_;
  Grid& grid_;
  std::vector<WarpState> warps_;
  std::vector<BlockState> blocks_;  ///< by residency slot
  std::vector<Multiprocessor> multiprocessors_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t order_ = 0;
  std::uint64_t next_block_ = 0;
  double end_ = 0;
  std::vector<std::uint64_t> lines_;  ///< of one request; reused to avoid allocation
  KernelTime result_;
  std::optional<Failure> failure_;
};

void Simulation::prepare() {
  // Slots in excess of the grid's blocks stay empty.
  const std::size_t places = std::size_t{timing_.multiprocessors} * shape_.resident_blocks;
  blocks_.resize(places);
  warps_.resize(places * shape_.warps);
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    warps_[i].slot = static_cast<std::uint32_t>(i / shape_.warps);
    warps_[i].index = static_cast<std::uint32_t>(i % shape_.warps);
  }
  multiprocessors_.resize(timing_.multiprocessors);
  for (Multiprocessor& each : multiprocessors_) each.scheduler_free_at.assign(timing_.schedulers, 0);
  const auto most_places = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      shape_.resident_blocks, (shape_.blocks + timing_.multiprocessors - 1) / timing_.multiprocessors));
  result_.blocks_per_multiprocessor = shape_.resident_blocks;
  result_.warps_per_multiprocessor = most_places * shape_.warps;
  result_.traffic.over_time.assign(Traffic::rows, std::vector<std::uint64_t>(machine_.global.channels));
  result_.traffic.of_block.assign(std::min<std::uint64_t>(shape_.blocks, Traffic::first_blocks),
                                  std::vector<std::uint64_t>(machine_.global.channels));
}

Result<KernelTime> Simulation::run() {
  prepare();
  memory_.begin_kernel();
  // One block for each multiprocessor in turn, until all are full.
  for (std::uint32_t slot = 0; slot < shape_.resident_blocks; ++slot) {
    for (std::uint32_t sm = 0; sm < timing_.multiprocessors; ++sm)
      fill_slot(sm * shape_.resident_blocks + slot, 0);
  }
  while (!failure_ && !events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    go_on(event.warp, event.time);
  }
  for (std::uint32_t slot = 0; !failure_ && slot < blocks_.size(); ++slot) {
    if (blocks_[slot].live != 0) failure_ = grid_.why_stuck(slot);
  }
  if (failure_) return std::move(*failure_);
  memory_.report(result_);
  result_.cycles = std::max(end_, memory_.drained());
  result_.seconds = result_.cycles / (timing_.core_mhz * 1e6);
  return std::move(result_);
}

/// Starts the grid's next block in the slot. Returns false if no block is left or if it failed.
bool Simulation::fill_slot(std::uint32_t slot, double time) {
  if (next_block_ == shape_.blocks) return false;
  BlockState& block = blocks_[slot];
  block = {};
  block.number = next_block_++;
  block.live = shape_.warps;
  if (Status begun = grid_.begin(block.number, slot, slot / shape_.resident_blocks); !begun) {
    failure_ = std::move(begun.error());
    return false;
  }
  for (std::uint32_t i = 0; i < shape_.warps; ++i) {
    const std::uint32_t warp = slot * shape_.warps + i;
    warps_[warp].steps.clear();
    warps_[warp].next = 0;
    warps_[warp].reads.clear();
    schedule(warp, time);
  }
  return true;
}

void Simulation::go_on(std::uint32_t warp, double time) {
  for (;;) {
    const Next next = step(warp, time);
    if (!next || failure_) return;
    if (*next > time && !events_.empty() && events_.top().time <= *next) return schedule(warp, *next);
    time = *next;
  }
}

Simulation::Next Simulation::step(std::uint32_t index, double time) {
  WarpState& warp = warps_[index];
  if (warp.left != 0) return transaction(warp, time);
  if (warp.next == warp.steps.size()) return ask(index, time);
  const Step& step = warp.steps[warp.next++];
  switch (step.kind) {
    case Step::Kind::arithmetic:
    case Step::Kind::access: return issue(warp, step, time);
    case Step::Kind::shared: return shared(warp, step, time);
    case Step::Kind::wait: return wait(warp, step, time);
    case Step::Kind::barrier:
    case Step::Kind::arrive: return barrier(index, step, time);
    case Step::Kind::transaction: break;  // belongs to an access
  }
  return time;
}

Simulation::Next Simulation::ask(std::uint32_t index, double time) {
  WarpState& warp = warps_[index];
  warp.steps.clear();
  warp.next = 0;
  const Result<Grid::More> more = grid_.advance(warp.slot, warp.index, time, warp.steps);
  if (!more) {
    failure_ = more.error();
    return std::nullopt;
  }
  BlockState& block = blocks_[warp.slot];
  if (*more == Grid::More::waits && warp.steps.empty()) {
    block.waiting.push_back(index);
    return std::nullopt;
  }
  wake(block, time);
  if (*more != Grid::More::ended || !warp.steps.empty()) return time;
  end_warp(warp, time);
  return std::nullopt;
}

void Simulation::wake(BlockState& block, double time) {
  for (const std::uint32_t waiting : std::exchange(block.waiting, {})) schedule(waiting, time);
}

void Simulation::end_warp(WarpState& warp, double time) {
  BlockState& block = blocks_[warp.slot];
  end_ = std::max(end_, time);
  if (--block.live == 0) {
    fill_slot(warp.slot, time);
    return;
  }
  for (Meeting& meeting : block.barriers) open(block, meeting, time);
}

/// Issues one instruction of a warp on its scheduler.
Simulation::Next Simulation::issue(WarpState& warp, const Step& step, double time) {
  const ArithmeticTiming& rates = timing_.arithmetic;
  double& free_at = home_of(warp).scheduler_free_at[warp.index % timing_.schedulers];
  const double start = std::max(time, free_at);
  if (step.kind == Step::Kind::arithmetic) {
    const auto busy = static_cast<double>(step.value);
    free_at = start + busy;
    return start + std::max(busy, static_cast<double>(step.count) * rates.latency);
  }
  free_at = start + rates.issue;
  warp.access = step;
  warp.left = step.count;
  warp.access_end = free_at;
  count_request(warp, step);
  return free_at;
}

/// Reserves a turn at the multiprocessor's port and a slot in flight for a transaction, then sends it at that
/// time.
Simulation::Next Simulation::transaction(WarpState& warp, double time) {
  Multiprocessor& home = home_of(warp);
  if (!warp.has_turn) {
    auto& in_flight = home.in_flight;
    while (!in_flight.empty() && in_flight.top() <= time) in_flight.pop();
    double start = std::max(time, home.port_free_at);
    if (in_flight.size() + home.turns >= timing_.memory.in_flight) {
      // All of them are about to be sent: retry later.
      if (in_flight.empty()) return std::max(home.port_free_at, time + timing_.memory.gap);
      start = std::max(start, in_flight.top());
      in_flight.pop();
    }
    home.port_free_at = start + timing_.memory.gap;
    ++home.turns;
    warp.has_turn = true;
    if (start > time) return start;
  }
  warp.has_turn = false;
  --home.turns;
  const Step& sent = warp.steps[warp.next++];
  const double over = memory_.send(warp.slot / shape_.resident_blocks, time, warp.access.access, sent);
  home.in_flight.push(over);
  warp.access_end = std::max(warp.access_end, over);
  count(warp, sent, time);
  if (--warp.left == 0 && warp.access.reads) warp.reads.push_back(warp.access_end);
  return time;
}

/// Its transactions follow in the warp's steps.
void Simulation::count_request(const WarpState& warp, const Step& access) {
  if (access.access == Step::Access::atomic) return;
  RequestCounts& counts =
      access.access == Step::Access::load ? result_.load_requests : result_.store_requests;
  ++counts.requests;
  counts.bytes_asked += access.value;
  lines_.clear();
  for (std::size_t i = warp.next; i < warp.next + access.count; ++i) {
    counts.sectors += (warp.steps[i].count + 31) / 32;
    lines_.push_back(warp.steps[i].value / 128);
  }
  std::ranges::sort(lines_);
  counts.lines += static_cast<std::uint64_t>(std::ranges::unique(lines_).begin() - lines_.begin());
}

void Simulation::count(const WarpState& warp, const Step& transaction, double time) {
  SizeCounts& sizes = warp.access.access == Step::Access::load    ? result_.loads
                      : warp.access.access == Step::Access::store ? result_.stores
                                                                  : result_.atomics;
  ++(transaction.count <= 32 ? sizes.of_32 : transaction.count <= 64 ? sizes.of_64 : sizes.of_128);
  const std::uint32_t channel = channel_of(machine_.global, transaction.value);
  Traffic& traffic = result_.traffic;
  while (time >= traffic.bin_cycles * Traffic::rows) {
    // Merge pairs of rows.
    for (std::uint32_t row = 0; row < Traffic::rows; ++row) {
      std::vector<std::uint64_t> merged(machine_.global.channels);
      for (std::uint32_t part = 2 * row; part < std::min(2 * row + 2, Traffic::rows); ++part) {
        for (std::size_t i = 0; i < merged.size(); ++i) merged[i] += traffic.over_time[part][i];
      }
      traffic.over_time[row] = std::move(merged);
    }
    traffic.bin_cycles *= 2;
  }
  ++traffic.over_time[static_cast<std::size_t>(time / traffic.bin_cycles)][channel];
  const std::uint64_t block = blocks_[warp.slot].number;
  if (block < traffic.of_block.size()) ++traffic.of_block[block][channel];
}

Simulation::Next Simulation::shared(WarpState& warp, const Step& step, double time) {
  Multiprocessor& home = home_of(warp);
  double& free_at = home.scheduler_free_at[warp.index % timing_.schedulers];
  free_at = std::max(time, free_at) + timing_.arithmetic.issue;
  home.shared_free_at =
      std::max(free_at, home.shared_free_at) + static_cast<double>(timing_.shared.turn) * step.count;
  if (step.reads) warp.reads.push_back(home.shared_free_at + timing_.shared.latency);
  return free_at;
}

Simulation::Next Simulation::wait(WarpState& warp, const Step& step, double time) {
  if (warp.reads.size() <= step.count) return time;
  const auto end = warp.reads.end() - step.count;
  time = std::max(time, *std::max_element(warp.reads.begin(), end));
  warp.reads.erase(warp.reads.begin(), end);
  return time;
}

Simulation::Next Simulation::barrier(std::uint32_t index, const Step& step, double time) {
  BlockState& block = blocks_[warps_[index].slot];
  Meeting& meeting = block.barriers[step.count % barrier_numbers];
  ++meeting.arrived;
  meeting.expected = step.value;
  if (step.kind == Step::Kind::barrier) meeting.waiting.push_back(index);
  open(block, meeting, time);
  if (step.kind == Step::Kind::arrive) return time;
  return std::nullopt;  // open() has scheduled the warp if all have arrived
}

/// Opens the barrier if all expected warps have arrived.
void Simulation::open(BlockState& block, Meeting& meeting, double time) {
  const std::uint64_t expected = meeting.expected != 0 ? meeting.expected : block.live;
  if (meeting.arrived == 0 || meeting.arrived < expected) return;
  for (const std::uint32_t waiting : std::exchange(meeting.waiting, {})) schedule(waiting, time);
  meeting = {};
}

}  // namespace

Device::Device(Machine machine, CachesBefore caches)
    : machine_(std::move(machine)), memory_(machine_, caches) {}

Result<KernelTime> Device::run(const KernelShape& shape, Grid& grid) {
  return Simulation(machine_, memory_, shape, grid).run();
}

}  // namespace lynxpp::models::clock
