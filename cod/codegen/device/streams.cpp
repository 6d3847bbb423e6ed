// Trace entries that leave the device while the kernel runs (cod/trace_stream.h).
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cstddef>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {
namespace {

/// Polls of a full ring before a warp abandons streaming regardless of the timer, because a modelled timer
/// may run slowly. Each poll takes at least a microsecond on a GPU.
constexpr std::uint64_t most_looks = std::uint64_t{1} << 24;

/// One of this many polls (a power of two) is certain to see the entries that the host has consumed, and lets
/// other lanes of the warp proceed: milliseconds on a GPU.
constexpr std::uint64_t looks_between = 1024;
/// Clock cycles that a lane waits before any poll but the first.
constexpr std::uint64_t pause_clocks = 2000;

constexpr std::uint64_t nothing_seen = ~std::uint64_t{0};

}  // namespace

std::optional<TraceStream> DeviceGenerator::streamed(const Collection& trace) const {
  return target_.streams_traces ? trace.stream() : std::nullopt;
}

llvm::Value* DeviceGenerator::load_of_stream(llvm::Value* address, std::uint64_t offset,
                                             Freshness freshness) {
  std::string opcode = "ld.global.u64";
  if (freshness == Freshness::passes_by && target_.sm >= 70) {
    require(70, 74);
    opcode = "ld.global.L1::no_allocate.u64";
  } else if (freshness != Freshness::constant) {
    opcode = "ld.volatile.global.u64";
  }
  return assembly(opcode + " $0, [$1+" + std::to_string(offset) + "];", ir_.getInt64Ty(), {address},
                  Effect::memory);
}

/// Each lane polls until its slot is free and writes its entry immediately, in the loop: a waiting lane never
/// delays others, wherever lanes are converged, and the earliest missing entry always has a slot. No warp
/// operation is used here, because the waiting lanes may belong to several groups.
void DeviceGenerator::stream(const Appended& entry, const TraceStream& stream, llvm::AllocaInst* result) {
  llvm::BasicBlock* streams = new_block("stream");
  llvm::BasicBlock* looks = new_block("looks_for_room");
  llvm::BasicBlock* room = new_block("room_in_ring");
  llvm::BasicBlock* waits = new_block("waits");
  llvm::BasicBlock* looked = new_block("looked");
  llvm::BasicBlock* end = new_block("streamed");
  llvm::Value* ring = load_of_stream(entry.counter, offsetof(StreamControl, ring), Freshness::constant);
  branch(ir_.CreateIsNotNull(ring), streams, end);
  llvm::Value* entries = load_of_stream(entry.counter, offsetof(StreamControl, entries), Freshness::constant);
  llvm::Value* known = load_of_stream(entry.counter, offsetof(StreamControl, consumed), Freshness::passes_by);
  llvm::Value* fits = ir_.CreateICmpULT(ir_.CreateSub(entry.number, known), entries);
  go_to(looks);
  llvm::Value* const nothing = i64(0);
  const std::array<llvm::Value*, 4> first{fits, i64(nothing_seen), nothing, nothing};
  std::array<llvm::PHINode*, 4> seen{};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = ir_.CreatePHI(first[i]->getType(), 2);
    seen[i]->addIncoming(first[i], streams);
  }
  branch(seen[0], room, waits);
  write_entry(entry, stream, ring);
  ir_.CreateStore(entry.number, result);
  ir_.CreateBr(looked);
  ir_.SetInsertPoint(waits);
  const Look found = look_for_room({entry.counter, entry.number, entries}, {seen[1], seen[2], seen[3]});
  llvm::BasicBlock* const waited = ir_.GetInsertBlock();
  go_to(looked);
  const std::array next{found.has_room, found.waiting.consumed, found.waiting.since, found.waiting.looks};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    llvm::PHINode* both = ir_.CreatePHI(first[i]->getType(), 2);
    both->addIncoming(seen[i], room);
    both->addIncoming(next[i], waited);
    seen[i]->addIncoming(both, looked);
  }
  llvm::PHINode* is_over = ir_.CreatePHI(ir_.getInt1Ty(), 2);
  is_over->addIncoming(ir_.getTrue(), room);
  is_over->addIncoming(found.gives_up, waited);
  branch(opaque(is_over), end, looks);
}

void DeviceGenerator::write_entry(const Appended& entry, const TraceStream& stream, llvm::Value* ring) {
  llvm::Value* entries = load_of_stream(entry.counter, offsetof(StreamControl, entries), Freshness::constant);
  llvm::Value* place = ir_.CreateAnd(entry.number, ir_.CreateSub(entries, i64(1)));
  llvm::Value* offset = ir_.CreateAdd(ir_.CreateMul(place, i64(stream.entry_bytes)), i64(sizeof(StreamRing)));
  llvm::Value* address = ir_.CreateAdd(ring, offset);
  for (std::size_t i = 0; i < entry.values.size(); ++i) {
    const Symbol& leaf = *entry.trace.leaves[i];
    llvm::Value* field = ir_.CreateIntToPtr(ir_.CreateAdd(address, i64(stream.fields[i].offset)),
                                            llvm::PointerType::get(context_, global_space));
    store({field, nullptr, leaf.type, leaf.memory}, entry.values[i], entry.call);
  }
  memory_instruction("membar.sys;", {});
  memory_instruction("st.volatile.global.u64 [$0], $1;", {address, ir_.CreateAdd(entry.number, i64(1))});
}

/// Always inline: in any loop with a call and an atomic operation such as the one that numbered the entry,
/// ptxas makes lanes yield.
DeviceGenerator::Look DeviceGenerator::look_for_room(const Sought& sought, const Waiting& before) {
  const Seen seen = look_at_host(sought.counter, before.looks);
  llvm::Value* moved = ir_.CreateICmpNE(seen.consumed, before.consumed);
  llvm::Value* has_room = ir_.CreateICmpULT(ir_.CreateSub(sought.number, seen.consumed), sought.entries);
  llvm::Value* now = thread_call(Api::global_timer);
  llvm::Value* is_late = waits_too_long(sought.counter, ir_.CreateSub(now, before.since), before.looks);
  llvm::Value* waits_on = ir_.CreateNot(ir_.CreateOr(moved, has_room));
  is_late = ir_.CreateAnd(is_late, waits_on);
  memory_instruction(
      "@$2 st.volatile.global.u64 [$0+" + std::to_string(offsetof(StreamControl, gave_up)) + "], $1;",
      {sought.counter, i64(1), is_late});
  llvm::Value* others_gave_up = ir_.CreateIsNotNull(seen.gave_up);
  llvm::Value* more = ir_.CreateAdd(before.looks, i64(1));
  return {has_room,
          ir_.CreateOr(is_late, ir_.CreateAnd(waits_on, others_gave_up)),
          {seen.consumed, ir_.CreateSelect(moved, now, before.since), ir_.CreateSelect(moved, i64(0), more)}};
}

/// Usually avoids everything that may separate the lanes of a warp, which then wait together: no volatile
/// load, no sleep. Lanes wait for others of their warp only if the program made them run separately; the
/// sleep is for them. It is not guarded by a condition of its own, or ptxas makes all lanes yield at each
/// poll.
DeviceGenerator::Seen DeviceGenerator::look_at_host(llvm::Value* counter, llvm::Value* looks) {
  llvm::Type* wide_type = ir_.getInt64Ty();
  llvm::Value* ring = load_of_stream(counter, offsetof(StreamControl, ring), Freshness::constant);
  const auto load_both = [&](Freshness freshness) {
    return Seen{load_of_stream(ring, offsetof(StreamRing, consumed), freshness),
                load_of_stream(counter, offsetof(StreamControl, gave_up), freshness)};
  };
  llvm::BasicBlock* patient = new_block("patient");
  llvm::BasicBlock* pauses = new_block("pauses");
  llvm::BasicBlock* paused = new_block("paused");
  llvm::BasicBlock* certain = new_block("certain");
  llvm::BasicBlock* seen = new_block("seen");
  llvm::Value* in_between = ir_.CreateAnd(looks, i64(looks_between - 1));
  leave_if(ir_.CreateICmpEQ(in_between, i64(looks_between - 1)), certain, patient);
  llvm::Value* begin = thread_call(Api::clock_counter);
  leave_if(ir_.CreateIsNull(in_between), paused, pauses);
  llvm::Value* gone = ir_.CreateSub(thread_call(Api::clock_counter), begin);
  leave_if(ir_.CreateICmpULT(gone, i64(pause_clocks)), pauses, paused);
  const Seen usual = load_both(Freshness::passes_by);
  ir_.CreateBr(seen);
  ir_.SetInsertPoint(certain);
  if (target_.sm >= 70) memory_instruction("nanosleep.u32 1000;", {});
  const Seen fresh = load_both(Freshness::anew);
  go_to(seen);
  const auto either = [&](llvm::Value* first, llvm::Value* second) {
    llvm::PHINode* value = ir_.CreatePHI(wide_type, 2);
    value->addIncoming(first, paused);
    value->addIncoming(second, certain);
    return value;
  };
  const Seen both{either(usual.consumed, fresh.consumed), either(usual.gave_up, fresh.gave_up)};
  memory_instruction("red.global.max.u64 [$0+" + std::to_string(offsetof(StreamControl, consumed)) + "], $1;",
                     {counter, both.consumed});
  return both;
}

/// i1. After the host last consumed an entry, the total waiting of a launch is limited to that of one lane.
llvm::Value* DeviceGenerator::waits_too_long(llvm::Value* counter, llvm::Value* nanoseconds,
                                             llvm::Value* looks) {
  llvm::Value* most =
      load_of_stream(counter, offsetof(StreamControl, patience_nanoseconds), Freshness::constant);
  return ir_.CreateOr(ir_.CreateICmpSGT(nanoseconds, most), ir_.CreateICmpUGT(looks, i64(most_looks)));
}

}  // namespace lynxpp::cod
