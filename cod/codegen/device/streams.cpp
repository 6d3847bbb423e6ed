// Entries of traces that leave the device while the kernel runs (cod/trace_stream.h).
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {
namespace {

/// Looks at a full ring after which a warp gives up, whatever the timer says: one that is modelled may run
/// slowly. Each takes a microsecond or more on a GPU.
constexpr std::uint64_t most_looks = std::uint64_t{1} << 24;

}  // namespace

std::optional<TraceStream> DeviceGenerator::streamed(const Collection& trace) const {
  return streams_traces_ ? trace.stream() : std::nullopt;
}

llvm::Value* DeviceGenerator::load_of_stream(llvm::Value* address, std::uint64_t offset,
                                             bool is_changed_by_others) {
  const std::string place = "[$1+" + std::to_string(offset) + "];";
  return assembly((is_changed_by_others ? "ld.volatile.global.u64 $0, " : "ld.global.u64 $0, ") + place,
                  builder_.getInt64Ty(), {address}, Effect::memory);
}

/// The lanes that are here have their numbers. Where they wait for room, the entries before theirs that may
/// not be there yet are of warps that wait for earlier ones: the earliest of all waits for the host alone.
void DeviceGenerator::stream(const Appended& entry, const TraceStream& stream, llvm::AllocaInst* result) {
  llvm::BasicBlock* streams = new_block("stream");
  llvm::BasicBlock* room = new_block("room_in_ring");
  llvm::BasicBlock* end = new_block("streamed");
  llvm::Value* ring = load_of_stream(entry.counter, offsetof(StreamControl, ring), false);
  builder_.CreateCondBr(builder_.CreateICmpNE(ring, builder_.getInt64(0)), streams, end);
  builder_.SetInsertPoint(streams);
  llvm::Value* entries = load_of_stream(entry.counter, offsetof(StreamControl, entries), false);
  builder_.CreateCondBr(has_room(entry.counter, ring, entries, entry.number), room, end);
  builder_.SetInsertPoint(room);
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
  builder_.CreateStore(entry.number, result);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
}

/// i1. As a rule what the device knows says so. Lanes that are together wait together, for the last one's
/// room.
llvm::Value* DeviceGenerator::has_room(llvm::Value* counter, llvm::Value* ring, llvm::Value* entries,
                                       llvm::Value* number) {
  llvm::Value* mask = active_mask_here();
  llvm::Value* known = load_of_stream(counter, offsetof(StreamControl, taken), true);
  llvm::Value* has_room = builder_.CreateICmpULT(builder_.CreateSub(number, known), entries);
  llvm::Value* gone = load_of_stream(counter, offsetof(StreamControl, gave_up), true);
  llvm::Value* goes_on = builder_.CreateOr(has_room, builder_.CreateICmpNE(gone, builder_.getInt64(0)));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* waits = new_block("waits");
  llvm::BasicBlock* end = new_block("waited");
  builder_.CreateCondBr(builder_.CreateICmpEQ(vote(goes_on, mask), mask), end, waits);
  builder_.SetInsertPoint(waits);
  llvm::Value* waited =
      out_of_line("lynxpp_wait_for_room", builder_.getInt32Ty(), {counter, ring, entries, number, mask},
                  [this](const auto& parameters) { return wait_for_room(parameters); });
  llvm::Value* came = builder_.CreateICmpNE(waited, builder_.getInt32(0));
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  llvm::PHINode* found = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  found->addIncoming(has_room, before);
  found->addIncoming(came, waits);
  return found;
}

/// 1: there is room; 0: there is none, and somebody has given up. Waits anew whenever the host has taken
/// something, so that all waiting of a launch behind the last time it did is no longer than one warp's.
llvm::Value* DeviceGenerator::wait_for_room(const std::vector<llvm::Value*>& parameters) {
  llvm::Value* const counter = parameters[0];
  llvm::Value* const mask = parameters[4];
  llvm::Type* wide_type = builder_.getInt64Ty();
  llvm::Value* patience = load_of_stream(counter, offsetof(StreamControl, patience_nanoseconds), false);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* look = new_block("look");
  llvm::BasicBlock* still_full = new_block("still_full");
  llvm::BasicBlock* pause = new_block("pause");
  llvm::BasicBlock* gives_up = new_block("gives_up");
  llvm::BasicBlock* has_room = new_block("has_room");
  llvm::BasicBlock* end = new_block("end");
  builder_.CreateBr(look);

  builder_.SetInsertPoint(look);
  llvm::PHINode* last = builder_.CreatePHI(wide_type, 2);
  llvm::PHINode* since = builder_.CreatePHI(wide_type, 2);
  llvm::PHINode* looks = builder_.CreatePHI(wide_type, 2);
  llvm::Value* taken = load_of_stream(parameters[1], offsetof(StreamRing, taken), true);
  llvm::Value* now = thread_call(Api::global_timer);
  llvm::Value* is_free = builder_.CreateICmpULT(builder_.CreateSub(parameters[3], taken), parameters[2]);
  builder_.CreateCondBr(builder_.CreateICmpEQ(vote(is_free, mask), mask), has_room, still_full);

  builder_.SetInsertPoint(still_full);
  llvm::Value* moved = builder_.CreateICmpNE(taken, last);
  llvm::Value* begin = builder_.CreateSelect(moved, now, since);
  llvm::Value* count =
      builder_.CreateSelect(moved, builder_.getInt64(0), builder_.CreateAdd(looks, builder_.getInt64(1)));
  llvm::Value* gone = load_of_stream(counter, offsetof(StreamControl, gave_up), true);
  llvm::Value* is_late =
      builder_.CreateOr(builder_.CreateICmpSGT(builder_.CreateSub(now, begin), patience),
                        builder_.CreateOr(builder_.CreateICmpUGT(count, builder_.getInt64(most_looks)),
                                          builder_.CreateICmpNE(gone, builder_.getInt64(0))));
  builder_.CreateCondBr(builder_.CreateICmpNE(vote(is_late, mask), builder_.getInt32(0)), gives_up, pause);

  builder_.SetInsertPoint(pause);
  if (sm_ >= 70) assembly("nanosleep.u32 1000;", builder_.getVoidTy(), {}, Effect::memory);
  builder_.CreateBr(look);
  for (auto [phi, at_first, later] :
       {std::tuple{last, builder_.getInt64(not_kept), taken}, std::tuple{since, builder_.getInt64(0), begin},
        std::tuple{looks, builder_.getInt64(0), count}}) {
    phi->addIncoming(at_first, before);
    phi->addIncoming(later, pause);
  }

  builder_.SetInsertPoint(has_room);
  assembly("red.global.max.u64 [$0+" + std::to_string(offsetof(StreamControl, taken)) + "], $1;",
           builder_.getVoidTy(), {counter, taken}, Effect::memory);
  builder_.CreateBr(end);
  builder_.SetInsertPoint(gives_up);
  assembly("st.volatile.global.u64 [$0+" + std::to_string(offsetof(StreamControl, gave_up)) + "], $1;",
           builder_.getVoidTy(), {counter, builder_.getInt64(1)}, Effect::memory);
  llvm::Value* has_own = builder_.CreateZExt(is_free, builder_.getInt32Ty());
  builder_.CreateBr(end);
  builder_.SetInsertPoint(end);
  llvm::PHINode* came = builder_.CreatePHI(builder_.getInt32Ty(), 2);
  came->addIncoming(builder_.getInt32(1), has_room);
  came->addIncoming(has_own, gives_up);
  return came;
}

}  // namespace lynxpp::cod
