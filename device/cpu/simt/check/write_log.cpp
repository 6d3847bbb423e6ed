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
  if (host_ == HostAccess::none || site.role.reach == Reach::none) return;
  synchronizes_with_host_ = true;
  may_signal_host_ |= host_ == HostAccess::pinned || !is_reduction(site);
}

void WriteLog::find_range(std::uint64_t address) {
  if (removals_ == memory_.removals() && range_.holds(address, 1)) return;
  removals_ = memory_.removals();
  range_ = memory_.around(address);
  host_ = range_.bytes != 0 ? memory_.host_access_at(address) : HostAccess::none;
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
  while (address < end) {
    const std::uint64_t stop = std::min(end, (address / page_bytes + 1) * page_bytes);
    save(page_of(address / page_bytes), address, stop);
    address = stop;
  }
}

/// Saves bytes [address, end) of a page that have not been saved yet.
void WriteLog::save(Page& page, std::uint64_t address, std::uint64_t end) {
  const WrittenMemory* const initialized = written_memory();
  const bool is_initialized = initialized == nullptr || initialized->is_written(address, end - address);
  for (; address < end; ++address) {
    const std::size_t at = address % page_bytes;
    if (page.written[at]) continue;
    page.written[at] = true;
    page.bytes[at] = *reinterpret_cast<const std::byte*>(address);
    page.unwritten[at] = !is_initialized && initialized->is_unwritten(address, 1);
  }
}

/// Exchanges bytes [begin, end) of a page, which are all written and agree in `unwritten`.
void WriteLog::exchange(Page& page, std::uint64_t number, std::size_t begin, std::size_t end) {
  const std::uint64_t address = number * page_bytes + begin;
  const std::uint64_t bytes = end - begin;
  std::swap_ranges(page.bytes.data() + begin, page.bytes.data() + end, reinterpret_cast<std::byte*>(address));
  WrittenMemory* const initialized = written_memory();
  if (initialized == nullptr) return;
  const bool was_unwritten = page.unwritten[begin];
  const bool is_written = initialized->is_written(address, bytes);
  for (std::uint64_t i = 0; i < bytes; ++i)
    page.unwritten[begin + i] = !is_written && initialized->is_unwritten(address + i, 1);
  if (was_unwritten) {
    initialized->forget(address, bytes);
  } else {
    initialized->write(address, bytes);
  }
}

bool WriteLog::has_results_of(const WriteLog& other) const {
  // Both logs hold the bytes to expect: `other` its results, this one those that only its run has written.
  const auto agrees = [this](const WriteLog& log, const WriteLog* without) {
    return std::ranges::all_of(log.pages_, [&](const auto& entry) {
      const auto& [number, page] = entry;
      const auto same = without != nullptr ? without->pages_.find(number) : log.pages_.end();
      const bool overlaps = without != nullptr && same != without->pages_.end();
      bool exists = false;
      for (std::size_t at = 0; at < page_bytes; ++at) {
        const std::uint64_t address = number * page_bytes + at;
        if (!page->written[at]) continue;
        if (at == 0 || !page->written[at - 1]) exists = memory_.around(address).bytes != 0;
        if (!exists || (overlaps && same->second->written[at])) continue;
        if (*reinterpret_cast<const std::byte*>(address) != page->bytes[at]) return false;
      }
      return true;
    });
  };
  return agrees(other, nullptr) && agrees(*this, &other);
}

void WriteLog::exchange() {
  for (auto& [number, page] : pages_) {
    for (std::size_t begin = 0; begin < page_bytes;) {
      std::size_t end = begin + 1;
      if (page->written[begin] && memory_.around(number * page_bytes + begin).bytes != 0) {
        while (end < page_bytes && page->written[end] && page->unwritten[end] == page->unwritten[begin])
          ++end;
        exchange(*page, number, begin, end);
      }
      begin = end;
    }
  }
}

}  // namespace lynxpp::device::cpu
