#include "interposer/preload/ranges.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "interposer/owned_mutex.h"
#include "interposer/preload/process.h"
#include "interposer/preload/quietly.h"

#define LYNXPP_EXPORT extern "C" [[gnu::visibility("default")]]

namespace lynxpp::preload {
namespace {

/// A range that a thread has pushed. Each domain has its own stack.
struct Pushed {
  nvtxDomainHandle_t domain;
  std::string name;
};

/// The thread's ranges; created with its first range and never destroyed, as threads may end in any way.
constinit thread_local std::vector<Pushed>* pushed __attribute__((tls_model("initial-exec"))) = nullptr;

constinit OwnedMutex<std::mutex> mutex{LockRank::leaf};  // guards the variables below
nvtxRangeId_t last_id = 0;
/// Never destroyed: the program's own destructors may use ranges.
std::map<nvtxRangeId_t, std::string>& started() {
  static auto* const all = new std::map<nvtxRangeId_t, std::string>;
  return *all;
}

/// The object that a string or domain handle of the program refers to.
struct Registered {
  std::string text;
};

std::string narrow(const wchar_t* text) {
  std::string result;
  for (; text != nullptr && *text != L'\0'; ++text) {
    // Encodes characters beyond ASCII in UTF-8.
    const auto code = static_cast<std::uint32_t>(*text);
    const auto tail = [&](unsigned shift) { result += static_cast<char>(0x80 | ((code >> shift) & 0x3f)); };
    if (code < 0x80) {
      result += static_cast<char>(code);
    } else if (code < 0x800) {
      result += static_cast<char>(0xc0 | (code >> 6));
      tail(0);
    } else if (code < 0x10000) {
      result += static_cast<char>(0xe0 | (code >> 12));
      tail(6);
      tail(0);
    } else {
      result += static_cast<char>(0xf0 | ((code >> 18) & 7));
      tail(12);
      tail(6);
      tail(0);
    }
  }
  return result;
}

/// Names must be single lines (lynxpp_range_source).
std::string line_of(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return name.empty() ? "(unnamed)" : name;
}

std::string text_of(const char* text) { return line_of(text != nullptr ? text : ""); }

std::string text_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return line_of({});
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: return text_of(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE: return line_of(narrow(attributes->message.unicode));
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (attributes->message.registered != nullptr)
        return line_of(reinterpret_cast<const Registered*>(attributes->message.registered)->text);
      break;
    default: break;
  }
  return line_of({});
}

int push(nvtxDomainHandle_t domain, std::string name) {
  return quietly([&] {
    if (pushed == nullptr) pushed = new std::vector<Pushed>;
    const auto level = static_cast<int>(std::count_if(
        pushed->begin(), pushed->end(), [&](const Pushed& each) { return each.domain == domain; }));
    pushed->push_back({domain, std::move(name)});
    return level;
  });
}

int pop(nvtxDomainHandle_t domain) {
  if (pushed == nullptr) return NVTX_NO_PUSH_POP_TRACKING;
  const auto last = std::find_if(pushed->rbegin(), pushed->rend(),
                                 [&](const Pushed& each) { return each.domain == domain; });
  if (last == pushed->rend()) return NVTX_NO_PUSH_POP_TRACKING;
  pushed->erase(std::prev(last.base()));
  return static_cast<int>(std::count_if(pushed->begin(), pushed->end(),
                                        [&](const Pushed& each) { return each.domain == domain; }));
}

nvtxRangeId_t start(std::string name) {
  return quietly([&] {
    const Lock lock(mutex);
    started().emplace(++last_id, std::move(name));
    return last_id;
  });
}

void end(nvtxRangeId_t id) {
  const Lock lock(mutex);
  started().erase(id);
}

// ---- functions that NVTX calls ---------------------------------------------------------------------------

int push_ascii(const char* name) { return push(nullptr, text_of(name)); }
int push_wide(const wchar_t* name) { return push(nullptr, line_of(narrow(name))); }
int push_attributes(const nvtxEventAttributes_t* attributes) { return push(nullptr, text_of(attributes)); }
int pop_default() { return pop(nullptr); }
nvtxRangeId_t start_ascii(const char* name) { return start(text_of(name)); }
nvtxRangeId_t start_wide(const wchar_t* name) { return start(line_of(narrow(name))); }
nvtxRangeId_t start_attributes(const nvtxEventAttributes_t* attributes) { return start(text_of(attributes)); }
int push_in_domain(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return push(domain, text_of(attributes));
}
nvtxRangeId_t start_in_domain(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  return start(text_of(attributes));
}
void end_in_domain(nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); }

/// Handles are never released: ranges that use them may be open.
template <typename Handle>
Handle registered(std::string text) {
  return quietly([&] { return reinterpret_cast<Handle>(new Registered{std::move(text)}); });
}
nvtxStringHandle_t string_ascii(nvtxDomainHandle_t, const char* text) {
  return registered<nvtxStringHandle_t>(text != nullptr ? text : "");
}
nvtxStringHandle_t string_wide(nvtxDomainHandle_t, const wchar_t* text) {
  return registered<nvtxStringHandle_t>(narrow(text));
}
nvtxDomainHandle_t domain_ascii(const char* name) {
  return registered<nvtxDomainHandle_t>(name != nullptr ? name : "");
}
nvtxDomainHandle_t domain_wide(const wchar_t* name) { return registered<nvtxDomainHandle_t>(narrow(name)); }

/// The functions of one NVTX module in the program; a slot holds a function's address.
class Functions {
 public:
  Functions(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &slots_, &size_) == 0) size_ = 0;
  }
  template <typename Function>
  void set(unsigned id, Function* function) {
    if (id < size_ && slots_[id] != nullptr) *slots_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable slots_ = nullptr;
  unsigned size_ = 0;
};

}  // namespace

std::size_t current_ranges(char* into, std::size_t capacity) {
  std::size_t size = 0;
  const auto write = [&](const char* text, std::size_t length) {
    if (size < capacity) std::memcpy(into + size, text, std::min(length, capacity - size));
    size += length;
  };
  const auto write_line = [&](const std::string& name) {
    write(name.data(), name.size());
    write("\n", 1);
  };
  if (const char* const named = secure_getenv("LYNXPP_RANGE"); named != nullptr && *named != '\0') {
    write(named, std::strcspn(named, "\n"));
    write("\n", 1);
  }
  {
    const Lock lock(mutex);
    for (const auto& [id, name] : started()) write_line(name);
  }
  if (pushed == nullptr) return size;
  for (const Pushed& each : *pushed) write_line(each.name);
  return size;
}

}  // namespace lynxpp::preload

/// Called by NVTX in each of the program's objects that uses it, before its first function.
LYNXPP_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  using namespace lynxpp::preload;  // NOLINT(google-build-using-namespace): its code, under a C name
  if (has_raised_rights) return 0;
  const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  Functions core(*callbacks, NVTX_CB_MODULE_CORE);
  core.set(NVTX_CBID_CORE_RangeStartEx, &start_attributes);
  core.set(NVTX_CBID_CORE_RangeStartA, &start_ascii);
  core.set(NVTX_CBID_CORE_RangeStartW, &start_wide);
  core.set(NVTX_CBID_CORE_RangeEnd, &end);
  core.set(NVTX_CBID_CORE_RangePushEx, &push_attributes);
  core.set(NVTX_CBID_CORE_RangePushA, &push_ascii);
  core.set(NVTX_CBID_CORE_RangePushW, &push_wide);
  core.set(NVTX_CBID_CORE_RangePop, &pop_default);
  Functions domains(*callbacks, NVTX_CB_MODULE_CORE2);
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, &start_in_domain);
  domains.set(NVTX_CBID_CORE2_DomainRangeEnd, &end_in_domain);
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, &push_in_domain);
  domains.set(NVTX_CBID_CORE2_DomainRangePop, &pop);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, &string_ascii);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, &string_wide);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, &domain_ascii);
  domains.set(NVTX_CBID_CORE2_DomainCreateW, &domain_wide);
  return 1;
}
