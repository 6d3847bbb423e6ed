#include "interposer/results/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "support/log.h"

namespace lynxpp::interposer {
namespace {

/// Maximum bytes of a block before compression.
constexpr std::uint64_t largest_block = std::uint64_t{1} << 20;
/// Maximum age of a block, which a killed process loses; smaller blocks need more space.
constexpr std::chrono::milliseconds oldest_block(100);
/// Reports progress to the device after this number of entries.
constexpr std::uint64_t told_after = 1024;

std::string trace_type_of(cod::ScalarType type) {
  using Type = cod::ScalarType;
  switch (type) {
    case Type::i8: return "i8";
    case Type::u8: return "u8";
    case Type::i16: return "i16";
    case Type::u16: return "u16";
    case Type::i32: return "i32";
    case Type::u32: return "u32";
    case Type::i64: return "i64";
    case Type::u64: return "u64";
    case Type::f32: return "f32";
    case Type::f64: break;
  }
  return "f64";
}

/// Adds the fields of the stream.
report::TraceDescription described(report::TraceDescription description,
                                   const cod::Specification& specification, const cod::TraceStream& stream) {
  description.specification = specification.name();
  description.trace = stream.name;
  for (const cod::TraceStream::Field& field : stream.fields)
    description.fields.push_back({field.name, trace_type_of(specification.arrays()[field.array].type)});
  return description;
}

}  // namespace

RingReader::RingReader(const cod::Specification& specification, const cod::TraceStream& stream,
                       std::unique_ptr<device::HostMemory> memory, report::TraceDescription description,
                       report::TraceFile& file)
    : stream_(stream),
      memory_(std::move(memory)),
      description_(described(std::move(description), specification, stream)),
      file_(file),
      entries_(entries_of(stream, memory_->bytes().size() - sizeof(cod::StreamRing))),
      columns_(stream.fields.size()) {
  for (const cod::TraceStream::Field& field : stream.fields)
    widths_.push_back(cod::size_of(specification.arrays()[field.array].type));
}

std::uint64_t RingReader::entries_of(const cod::TraceStream& stream, std::uint64_t bytes) {
  return std::bit_floor(std::max(bytes / stream.entry_bytes, cod::least_streamed_entries));
}

std::uint64_t RingReader::bytes_of(const cod::TraceStream& stream, std::uint64_t entries) {
  return sizeof(cod::StreamRing) + entries * stream.entry_bytes;
}

cod::StreamControl RingReader::control(std::chrono::nanoseconds patience) const {
  cod::StreamControl control;
  control.ring = memory_->address();
  control.entries = entries_;
  control.patience_nanoseconds = static_cast<std::uint64_t>(patience.count());
  return control;
}

const std::byte* RingReader::place(std::uint64_t number) const {
  return memory_->bytes().data() + sizeof(cod::StreamRing) + number % entries_ * stream_.entry_bytes;
}

bool RingReader::is_complete(std::uint64_t number) const {
  auto* const tag = const_cast<std::uint64_t*>(reinterpret_cast<const std::uint64_t*>(place(number)));
  return std::atomic_ref(*tag).load(std::memory_order_acquire) == number + 1;
}

bool RingReader::take() {
  std::atomic_ref taken(reinterpret_cast<cod::StreamRing*>(memory_->bytes().data())->consumed);
  const std::uint64_t before = taken_;
  while (is_complete(taken_)) {
    add(taken_++);
    if (taken_ % told_after == 0) taken.store(taken_, std::memory_order_release);
  }
  taken.store(taken_, std::memory_order_release);
  if (in_block_ != 0 && std::chrono::steady_clock::now() - begun_ > oldest_block) write_block();
  return taken_ != before;
}

void RingReader::finish(std::optional<std::uint64_t> appended) {
  take();
  // Complete entries may follow the first missing one.
  for (std::uint64_t number = taken_; number < taken_ + entries_; ++number) {
    if (is_complete(number)) add(number);
  }
  write_block();
  if (!appended || !number_ || !problem_.empty()) return;
  if (Status ended = file_.end(*number_, {*appended, written_}); !ended)
    problem_ = ended.error().diagnostics.front().message;
}

std::uint64_t RingReader::lost(std::uint64_t appended) const {
  const std::uint64_t beyond = appended - std::min(appended, stream_.capacity);
  return beyond - std::min(beyond, written_beyond_);
}

/// Appends to the block, or to a new one if a number is missing before it.
void RingReader::add(std::uint64_t number) {
  if (!problem_.empty()) return;
  if (in_block_ != 0 && (number != first_ + in_block_ || in_block_ * stream_.entry_bytes >= largest_block))
    write_block();
  if (in_block_ == 0) {
    first_ = number;
    begun_ = std::chrono::steady_clock::now();
  }
  const std::byte* const entry = place(number);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::byte* const value = entry + stream_.fields[i].offset;
    columns_[i].insert(columns_[i].end(), value, value + widths_[i]);
  }
  ++in_block_;
}

Status RingReader::begin_stream() {
  if (number_) return success();
  const Result<std::uint32_t> begun = file_.begin(description_);
  if (!begun) return begun.error();
  number_ = *begun;
  return success();
}

void RingReader::write_block() {
  if (in_block_ == 0) return;
  Status written = begin_stream();
  if (written) written = file_.write(*number_, first_, in_block_, columns_);
  if (written) {
    written_ += in_block_;
    const std::uint64_t end = first_ + in_block_;
    written_beyond_ += end - std::clamp(stream_.capacity, first_, end);
  } else {
    problem_ = written.error().diagnostics.front().message;
  }
  for (std::vector<std::byte>& column : columns_) column.clear();
  in_block_ = 0;
}

}  // namespace lynxpp::interposer
