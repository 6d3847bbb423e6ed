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
  return streams_traces_ ? trace.stream() : std::nullopt;
}

llvm::Value* DeviceGenerator::load_of_stream(llvm::Value* address, std::uint64_t offset,
                                             Freshness freshness) {
  std::string opcode = "ld.global.u64";
  if (freshness == Freshness::passes_by && sm_ >= 70) {
    require(70, 74);
    opcode = "ld.global.L1::no_allocate.u64";
  } else if (freshness != Freshness::constant) {
    opcode = "ld.volatile.global.u64";
  }
  return assembly(opcode + " $0, [$1+" + std::to_string(offset) + "];", builder_.getInt64Ty(), {address},
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
  builder_.CreateCondBr(builder_.CreateICmpNE(ring, builder_.getInt64(0)), streams, end);
  builder_.SetInsertPoint(streams);
  llvm::Value* entries = load_of_stream(entry.counter, offsetof(StreamControl, entries), Freshness::constant);
  llvm::Value* known = load_of_stream(entry.counter, offsetof(StreamControl, consumed), Freshness::passes_by);
  llvm::Value* fits = builder_.CreateICmpULT(builder_.CreateSub(entry.number, known), entries);
  builder_.CreateBr(looks);
  builder_.SetInsertPoint(looks);
  llvm::Value* const nothing = builder_.getInt64(0);
  const std::array<llvm::Value*, 4> first{fits, builder_.getInt64(nothing_seen), nothing, nothing};
  std::array<llvm::PHINode*, 4> seen{};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = builder_.CreatePHI(first[i]->getType(), 2);
    seen[i]->addIncoming(first[i], streams);
  }
  builder_.CreateCondBr(seen[0], room, waits);
  builder_.SetInsertPoint(room);
  write_entry(entry, stream, ring);
  builder_.CreateStore(entry.number, result);
  builder_.CreateBr(looked);
  builder_.SetInsertPoint(waits);
  const Look found = look_for_room({entry.counter, entry.number, entries}, {seen[1], seen[2], seen[3]});
  llvm::BasicBlock* const waited = builder_.GetInsertBlock();
  builder_.CreateBr(looked);
  builder_.SetInsertPoint(looked);
  const std::array next{found.has_room, found.waiting.consumed, found.waiting.since, found.waiting.looks};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    llvm::PHINode* both = builder_.CreatePHI(first[i]->getType(), 2);
    both->addIncoming(seen[i], room);
    both->addIncoming(next[i], waited);
    seen[i]->addIncoming(both, looked);
  }
  llvm::PHINode* is_over = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  is_over->addIncoming(builder_.getTrue(), room);
  is_over->addIncoming(found.gives_up, waited);
  builder_.CreateCondBr(opaque(is_over), end, looks);
  builder_.SetInsertPoint(end);
}

void DeviceGenerator::write_entry(const Appended& entry, const TraceStream& stream, llvm::Value* ring) {
  llvm::Value* entries = load_of_stream(entry.counter, offsetof(StreamControl, entries), Freshness::constant);
  llvm::Value* place = builder_.CreateAnd(entry.number, builder_.CreateSub(entries, builder_.getInt64(1)));
  llvm::Value* offset = builder_.CreateAdd(builder_.CreateMul(place, builder_.getInt64(stream.entry_bytes)),
                                           builder_.getInt64(sizeof(StreamRing)));
  llvm::Value* address = builder_.CreateAdd(ring, offset);
  for (std::size_t i = 0; i < entry.values.size(); ++i) {
    const Symbol& leaf = *entry.trace.leaves[i];
    llvm::Value* field =
        builder_.CreateIntToPtr(builder_.CreateAdd(address, builder_.getInt64(stream.fields[i].offset)),
                                llvm::PointerType::get(context_, global_space));
    store({field, nullptr, leaf.type, leaf.memory}, entry.values[i], entry.call);
  }
  assembly("membar.sys;", builder_.getVoidTy(), {}, Effect::memory);
  assembly("st.volatile.global.u64 [$0], $1;", builder_.getVoidTy(),
           {address, builder_.CreateAdd(entry.number, builder_.getInt64(1))}, Effect::memory);
}

/// Always inline: in any loop with a call and an atomic operation such as the one that numbered the entry,
/// ptxas makes lanes yield.
DeviceGenerator::Look DeviceGenerator::look_for_room(const Sought& sought, const Waiting& before) {
  const Seen seen = look_at_host(sought.counter, before.looks);
  llvm::Value* moved = builder_.CreateICmpNE(seen.consumed, before.consumed);
  llvm::Value* has_room =
      builder_.CreateICmpULT(builder_.CreateSub(sought.number, seen.consumed), sought.entries);
  llvm::Value* now = thread_call(Api::global_timer);
  llvm::Value* is_late = waits_too_long(sought.counter, builder_.CreateSub(now, before.since), before.looks);
  llvm::Value* waits_on = builder_.CreateNot(builder_.CreateOr(moved, has_room));
  is_late = builder_.CreateAnd(is_late, waits_on);
  assembly("@$2 st.volatile.global.u64 [$0+" + std::to_string(offsetof(StreamControl, gave_up)) + "], $1;",
           builder_.getVoidTy(), {sought.counter, builder_.getInt64(1), is_late}, Effect::memory);
  llvm::Value* others_gave_up = builder_.CreateICmpNE(seen.gave_up, builder_.getInt64(0));
  llvm::Value* more = builder_.CreateAdd(before.looks, builder_.getInt64(1));
  return {has_room,
          builder_.CreateOr(is_late, builder_.CreateAnd(waits_on, others_gave_up)),
          {seen.consumed, builder_.CreateSelect(moved, now, before.since),
           builder_.CreateSelect(moved, builder_.getInt64(0), more)}};
}

/// Usually avoids everything that may separate the lanes of a warp, which then wait together: no volatile
/// load, no sleep. Lanes wait for others of their warp only if the program made them run separately; the
/// sleep is for them. It is not guarded by a condition of its own, or ptxas makes all lanes yield at each
/// poll.
DeviceGenerator::Seen DeviceGenerator::look_at_host(llvm::Value* counter, llvm::Value* looks) {
  llvm::Type* wide_type = builder_.getInt64Ty();
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
  llvm::Value* in_between = builder_.CreateAnd(looks, builder_.getInt64(looks_between - 1));
  builder_.CreateCondBr(builder_.CreateICmpEQ(in_between, builder_.getInt64(looks_between - 1)), certain,
                        patient);
  builder_.SetInsertPoint(patient);
  llvm::Value* begin = thread_call(Api::clock_counter);
  builder_.CreateCondBr(builder_.CreateICmpEQ(in_between, builder_.getInt64(0)), paused, pauses);
  builder_.SetInsertPoint(pauses);
  llvm::Value* gone = builder_.CreateSub(thread_call(Api::clock_counter), begin);
  builder_.CreateCondBr(builder_.CreateICmpULT(gone, builder_.getInt64(pause_clocks)), pauses, paused);
  builder_.SetInsertPoint(paused);
  const Seen usual = load_both(Freshness::passes_by);
  builder_.CreateBr(seen);
  builder_.SetInsertPoint(certain);
  if (sm_ >= 70) assembly("nanosleep.u32 1000;", builder_.getVoidTy(), {}, Effect::memory);
  const Seen fresh = load_both(Freshness::anew);
  builder_.CreateBr(seen);
  builder_.SetInsertPoint(seen);
  const auto either = [&](llvm::Value* first, llvm::Value* second) {
    llvm::PHINode* value = builder_.CreatePHI(wide_type, 2);
    value->addIncoming(first, paused);
    value->addIncoming(second, certain);
    return value;
  };
  const Seen both{either(usual.consumed, fresh.consumed), either(usual.gave_up, fresh.gave_up)};
  assembly("red.global.max.u64 [$0+" + std::to_string(offsetof(StreamControl, consumed)) + "], $1;",
           builder_.getVoidTy(), {counter, both.consumed}, Effect::memory);
  return both;
}

/// i1. After the host last consumed an entry, the total waiting of a launch is limited to that of one lane.
llvm::Value* DeviceGenerator::waits_too_long(llvm::Value* counter, llvm::Value* nanoseconds,
                                             llvm::Value* looks) {
  llvm::Value* most =
      load_of_stream(counter, offsetof(StreamControl, patience_nanoseconds), Freshness::constant);
  return builder_.CreateOr(builder_.CreateICmpSGT(nanoseconds, most),
                           builder_.CreateICmpUGT(looks, builder_.getInt64(most_looks)));
}

}  // namespace lynxpp::cod
