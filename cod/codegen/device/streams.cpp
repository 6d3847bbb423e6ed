// Entries of traces that leave the device while the kernel runs (cod/trace_stream.h).
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cstddef>

#include "cod/codegen/device/generator.h"

namespace lynxpp::cod {
namespace {

/// Looks at a full ring after which a warp gives up, whatever the timer says: one that is modelled may run
/// slowly. Each takes a microsecond or more on a GPU.
constexpr std::uint64_t most_looks = std::uint64_t{1} << 24;

/// What a look for room says, below the number of entries that the host has taken.
constexpr std::uint64_t answer_bits = 2;
constexpr std::uint64_t no_room_yet = 0, has_room = 1, gave_up = 2;
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

/// Each lane looks for room until there is some, and writes its entry then and there, in the loop: a lane
/// that waits keeps none back, wherever lanes are together, and the earliest entry that is missing has room.
/// No operation on the warp stands here, since lanes that wait may be those of several groups.
void DeviceGenerator::stream(const Appended& entry, const TraceStream& stream, llvm::AllocaInst* result) {
  llvm::Type* wide_type = builder_.getInt64Ty();
  llvm::BasicBlock* streams = new_block("stream");
  llvm::BasicBlock* looks = new_block("looks_for_room");
  llvm::BasicBlock* room = new_block("room_in_ring");
  llvm::BasicBlock* waits = new_block("waits");
  llvm::BasicBlock* looked = new_block("looked");
  llvm::BasicBlock* end = new_block("streamed");
  llvm::Value* ring = load_of_stream(entry.counter, offsetof(StreamControl, ring), Freshness::constant);
  builder_.CreateCondBr(builder_.CreateICmpNE(ring, builder_.getInt64(0)), streams, end);
  builder_.SetInsertPoint(streams);
  llvm::Value* at_once = out_of_line("lynxpp_room_known", wide_type, {entry.counter, entry.number},
                                     [this](const auto& parameters) { return known_room(parameters); });
  builder_.CreateBr(looks);
  builder_.SetInsertPoint(looks);
  std::array<llvm::PHINode*, 4> seen{};
  for (llvm::PHINode*& each : seen) each = builder_.CreatePHI(wide_type, 2);
  builder_.CreateCondBr(builder_.CreateICmpEQ(seen[0], builder_.getInt64(has_room)), room, waits);
  builder_.SetInsertPoint(room);
  write_entry(entry, stream, ring);
  builder_.CreateStore(entry.number, result);
  builder_.CreateBr(looked);
  builder_.SetInsertPoint(waits);
  const Look found = look_for_room(entry, {seen[1], seen[2], seen[3]});
  builder_.CreateBr(looked);
  builder_.SetInsertPoint(looked);
  const std::array<llvm::Value*, 4> first{at_once, builder_.getInt64(nothing_seen), builder_.getInt64(0),
                                          builder_.getInt64(0)};
  const std::array next{found.answer, found.waiting.taken, found.waiting.since, found.waiting.looks};
  llvm::PHINode* is_over = builder_.CreatePHI(builder_.getInt1Ty(), 2);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    llvm::PHINode* both = builder_.CreatePHI(wide_type, 2);
    both->addIncoming(seen[i], room);
    both->addIncoming(next[i], waits);
    seen[i]->addIncoming(first[i], streams);
    seen[i]->addIncoming(both, looked);
  }
  is_over->addIncoming(builder_.getTrue(), room);
  is_over->addIncoming(found.gives_up, waits);
  builder_.CreateCondBr(opaque(is_over), end, looks);
  builder_.SetInsertPoint(end);
}

/// As a rule what the device knows says that there is room.
llvm::Value* DeviceGenerator::known_room(const std::vector<llvm::Value*>& parameters) {
  llvm::Value* entries = load_of_stream(parameters[0], offsetof(StreamControl, entries), Freshness::constant);
  llvm::Value* known = load_of_stream(parameters[0], offsetof(StreamControl, taken), Freshness::passes_by);
  llvm::Value* fits = builder_.CreateICmpULT(builder_.CreateSub(parameters[1], known), entries);
  return builder_.CreateSelect(fits, builder_.getInt64(has_room), builder_.getInt64(no_room_yet));
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

/// A function answers, so that ptxas sees neither what it loads nor that the loop ends by an entry's number,
/// which an atomic operation gave: it would take the loop for one that waits for other lanes and have all
/// lanes yield that come there, behind which a warp's lanes run apart. Those that wait do.
DeviceGenerator::Look DeviceGenerator::look_for_room(const Appended& entry, const Waiting& before) {
  llvm::Value* found = out_of_line("lynxpp_look_for_room", builder_.getInt64Ty(),
                                   {entry.counter, entry.number, before.taken, before.since, before.looks},
                                   [this](const auto& parameters) { return look(parameters); });
  llvm::Value* taken = builder_.CreateLShr(found, answer_bits);
  llvm::Value* answer = builder_.CreateAnd(found, (std::uint64_t{1} << answer_bits) - 1);
  llvm::Value* now = thread_call(Api::global_timer);
  llvm::Value* moved = builder_.CreateICmpNE(taken, before.taken);
  llvm::Value* more = builder_.CreateAdd(before.looks, builder_.getInt64(1));
  return {answer,
          builder_.CreateICmpEQ(answer, builder_.getInt64(gave_up)),
          {taken, builder_.CreateSelect(moved, now, before.since),
           builder_.CreateSelect(moved, builder_.getInt64(0), more)}};
}

/// What the host has taken, and below it the answer.
llvm::Value* DeviceGenerator::look(const std::vector<llvm::Value*>& parameters) {
  llvm::Value* const counter = parameters[0];
  llvm::Value* entries = load_of_stream(counter, offsetof(StreamControl, entries), Freshness::constant);
  llvm::Value* taken = taken_by_host(counter);
  llvm::Value* moved = builder_.CreateICmpNE(taken, parameters[2]);
  llvm::Value* has_space = builder_.CreateICmpULT(builder_.CreateSub(parameters[1], taken), entries);
  llvm::Value* waits_on = builder_.CreateNot(builder_.CreateOr(moved, has_space));
  llvm::Value* ends = gives_up({counter, parameters[3], parameters[4], waits_on});
  if (sm_ >= 70) assembly("@$0 nanosleep.u32 1000;", builder_.getVoidTy(), {waits_on}, Effect::memory);
  llvm::Value* without =
      builder_.CreateSelect(ends, builder_.getInt64(gave_up), builder_.getInt64(no_room_yet));
  llvm::Value* answer = builder_.CreateSelect(has_space, builder_.getInt64(has_room), without);
  return builder_.CreateOr(builder_.CreateShl(taken, answer_bits), answer);
}

llvm::Value* DeviceGenerator::taken_by_host(llvm::Value* counter) {
  llvm::Value* ring = load_of_stream(counter, offsetof(StreamControl, ring), Freshness::constant);
  llvm::Value* taken = load_of_stream(ring, offsetof(StreamRing, taken), Freshness::anew);
  assembly("red.global.max.u64 [$0+" + std::to_string(offsetof(StreamControl, taken)) + "], $1;",
           builder_.getVoidTy(), {counter, taken}, Effect::memory);
  return taken;
}

/// i1. For the whole launch, where the host has taken nothing for too long: all waiting of a launch behind
/// the last time it did is no longer than one lane's.
llvm::Value* DeviceGenerator::gives_up(const Patience& patience) {
  llvm::Value* most =
      load_of_stream(patience.counter, offsetof(StreamControl, patience_nanoseconds), Freshness::constant);
  llvm::Value* gone = load_of_stream(patience.counter, offsetof(StreamControl, gave_up), Freshness::anew);
  llvm::Value* waited =
      builder_.CreateICmpSGT(builder_.CreateSub(thread_call(Api::global_timer), patience.since), most);
  llvm::Value* is_late =
      builder_.CreateOr(waited, builder_.CreateICmpUGT(patience.looks, builder_.getInt64(most_looks)));
  is_late = builder_.CreateAnd(is_late, patience.waits_on);
  assembly("@$2 st.volatile.global.u64 [$0+" + std::to_string(offsetof(StreamControl, gave_up)) + "], $1;",
           builder_.getVoidTy(), {patience.counter, builder_.getInt64(1), is_late}, Effect::memory);
  llvm::Value* is_over =
      builder_.CreateAnd(patience.waits_on, builder_.CreateICmpNE(gone, builder_.getInt64(0)));
  return builder_.CreateOr(is_late, is_over);
}

}  // namespace lynxpp::cod
