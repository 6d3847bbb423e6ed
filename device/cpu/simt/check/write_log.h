// The global memory that one run of a launch has written, to run the launch again from the same memory.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "device/cpu/simt/execute/context.h"
#include "device/cpu/simt/execute/memory/global_memory.h"

namespace lynxpp::device::cpu {

/// Exact to the byte: memory next to the written bytes, which the host or another launch may write meanwhile,
/// is never touched. Also keeps which bytes count as uninitialized (written_memory.h). Not thread safe.
/// Example:
///
///     WriteLog log(memory);
///     log.note(site, address, 4);  // before each access of the kernel
///     log.exchange();              // memory is as before the launch, the log holds the results
///     log.exchange();              // and the reverse
class WriteLog {
 public:
  explicit WriteLog(const GlobalMemory& memory) : memory_(memory) {}

  /// Notes an access before it is made. Bytes outside allocations are ignored.
  void note(const AccessSite& site, std::uint64_t address, std::uint64_t bytes);
  /// Exchanges the written bytes with the log's.
  void exchange();
  /// True if memory has the same bytes as after the run of `other`. Precondition: both runs began with the
  /// same memory; `other` has been exchanged, this log has not.
  bool has_results_of(const WriteLog& other) const;
  /// True if the kernel and the host may communicate during the launch: it accesses memory of the host by
  /// volatile or atomic operations other than plain reductions.
  bool may_signal_host() const { return may_signal_host_; }
  /// True if it accesses memory of the host by any atomic or volatile operation.
  bool synchronizes_with_host() const { return synchronizes_with_host_; }

 private:
  static constexpr std::uint64_t page_bytes = 512;
  struct Page {
    std::array<std::byte, page_bytes> bytes;
    std::bitset<page_bytes> written;
    std::bitset<page_bytes> unwritten;  ///< bytes that counted as uninitialized
  };
  void note_host(const AccessSite& site);
  void find_range(std::uint64_t address);
  static void save(Page& page, std::uint64_t address, std::uint64_t end);
  static void exchange(Page& page, std::uint64_t number, std::size_t begin, std::size_t end);
  Page& page_of(std::uint64_t number);

  const GlobalMemory& memory_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by address / page_bytes
  std::uint64_t last_number_ = ~std::uint64_t{0};
  Page* last_page_ = nullptr;
  AddressRange range_;  // of the last access
  HostAccess host_ = HostAccess::none;
  std::uint64_t removals_ = ~std::uint64_t{0};
  bool may_signal_host_ = false;
  bool synchronizes_with_host_ = false;
};

}  // namespace lynxpp::device::cpu
