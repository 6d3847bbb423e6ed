#include "device/cpu/simt/check/write_log.h"

#include <algorithm>
#include <utility>

#include "device/cpu/simt/check/written_memory.h"

namespace lynxpp::device::cpu {
namespace {

/// True for atomic operations from which the host can learn only after the launch, such as counting.
bool is_reduction(const AccessSite& site) {
  if (!site.role.reads || !site.role.writes) return false;
  return site.opcode.find(".exch") == std::string_view::npos &&
         site.opcode.find(".cas") == std::string_view::npos;
}

}  // namespace

void WriteLog::note_host(const AccessSite& site) {
  if (host_ == HostMemory::none || site.role.reach == Reach::none) return;
  synchronizes_with_host_ = true;
  may_signal_host_ |= host_ == HostMemory::pinned || !is_reduction(site);
}

void WriteLog::find_range(std::uint64_t address) {
  if (removals_ == memory_.removals() && range_.holds(address, 1)) return;
  removals_ = memory_.removals();
  range_ = memory_.around(address);
  host_ = range_.bytes != 0 ? memory_.host_memory_at(address) : HostMemory::none;
}

WriteLog::Page& WriteLog::page_of(std::uint64_t number) {
  if (number == last_number_) return *last_page_;
  std::unique_ptr<Page>& page = pages_[number];
  if (page == nullptr) page = std::make_unique<Page>();
  last_number_ = number;
  last_page_ = page.get();
  return *last_page_;
}

void WriteLog::note(const AccessSite& site, std::uint64_t address, std::uint64_t bytes) {
  find_range(address);
  if (range_.bytes == 0) return;
  note_host(site);
  if (!site.role.writes && !site.role.is_async) return;
  const std::uint64_t end = std::min(address + bytes, range_.begin + range_.bytes);
  const WrittenMemory* const initialized = written_memory();
  while (address < end) {
    Page& page = page_of(address / page_bytes);
    const std::uint64_t stop = std::min(end, (address / page_bytes + 1) * page_bytes);
    for (; address < stop; ++address) {
      const std::size_t at = address % page_bytes;
      if (page.written[at]) continue;
      page.written[at] = true;
      page.bytes[at] = *reinterpret_cast<const std::byte*>(address);
      page.unwritten[at] = initialized != nullptr && initialized->is_unwritten(address, 1);
    }
  }
}

void WriteLog::exchange() {
  WrittenMemory* const initialized = written_memory();
  for (auto& [number, page] : pages_) {
    for (std::size_t at = 0; at < page_bytes; ++at) {
      if (!page->written[at]) continue;
      const std::uint64_t address = number * page_bytes + at;
      std::swap(page->bytes[at], *reinterpret_cast<std::byte*>(address));
      if (initialized == nullptr) continue;
      const bool was_unwritten = page->unwritten[at];
      page->unwritten[at] = initialized->is_unwritten(address, 1);
      if (was_unwritten) {
        initialized->forget(address, 1);
      } else {
        initialized->write(address, 1);
      }
    }
  }
}

}  // namespace lynxpp::device::cpu
