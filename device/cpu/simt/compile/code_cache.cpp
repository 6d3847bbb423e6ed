#include "device/cpu/simt/compile/code_cache.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <llvm/Support/xxhash.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "support/log.h"
#include "support/setting.h"

namespace lynxpp::device::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t record_mark = 0x4d524f46'58584e59;
constexpr std::uint64_t alignment = 64;  // of records and of the objects inside
constexpr std::size_t kept_files = 4;

/// Header of a record. The keys of its forms follow, then, aligned, the object file.
struct RecordHeader {
  std::uint64_t mark = record_mark;
  std::uint64_t checksum = 0;  ///< of everything after the header
  std::uint64_t forms = 0;
  std::uint64_t object_bytes = 0;
};

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::uint64_t object_offset(const RecordHeader& header) {
  return aligned(sizeof(RecordHeader) + header.forms * sizeof(FormKey));
}

std::uint64_t record_bytes(const RecordHeader& header) {
  return object_offset(header) + aligned(header.object_bytes);
}

llvm::ArrayRef<std::uint8_t> bytes_at(const void* data, std::uint64_t bytes) {
  return {static_cast<const std::uint8_t*>(data), bytes};
}

std::uint64_t checksum_of(const std::byte* record, std::uint64_t bytes) {
  return llvm::xxh3_64bits(bytes_at(record + sizeof(RecordHeader), bytes - sizeof(RecordHeader)));
}

std::string hexadecimal(std::uint64_t high, std::uint64_t low) {
  char digits[40];
  snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(high),
           static_cast<unsigned long long>(low));
  return digits;
}

/// True if a record begins at `at` and ends within `bytes`; its object may still be damaged.
bool begins_record(const std::byte* at, std::uint64_t bytes, RecordHeader& header) {
  if (bytes < sizeof header) return false;
  std::memcpy(&header, at, sizeof header);
  return header.mark == record_mark && header.forms <= CodeCache::greatest_file / sizeof(FormKey) &&
         header.object_bytes <= CodeCache::greatest_file && record_bytes(header) <= bytes;
}

/// True if the file is a cache: it has a cache's name and begins with a record.
bool is_cache(const PrivateFolder& folder, const std::string& name) {
  const bool has_name = name.size() == 2 * 16 && name.find_first_not_of("0123456789abcdef") == name.npos;
  std::uint64_t mark = 0;
  const Descriptor file = has_name ? folder.open_file(name, O_RDONLY) : Descriptor();
  return file && pread(file.number(), &mark, sizeof mark, 0) == sizeof mark && mark == record_mark;
}

/// Removes all but the newest files of other builds.
void remove_old_files(const PrivateFolder& folder) {
  std::vector<PrivateFolder::File> files = folder.files();
  std::erase_if(files, [&](const PrivateFolder::File& file) { return !is_cache(folder, file.name); });
  std::ranges::sort(files, std::greater<>(), &PrivateFolder::File::written);
  for (std::size_t i = kept_files; i < files.size(); ++i) folder.remove(files[i].name);
}

struct NoteSearch {
  std::uintptr_t address = 0;
  std::string found;  ///< build id of the containing object; empty if it has none
};

void search_notes(const std::byte* notes, std::size_t bytes, std::string& found) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    const std::size_t name = (header.n_namesz + 3u) & ~3u;
    const std::size_t length = sizeof header + name + ((header.n_descsz + 3u) & ~3u);
    if (length > bytes) return;
    if (header.n_type == NT_GNU_BUILD_ID)
      found.assign(reinterpret_cast<const char*>(notes + sizeof header + name), header.n_descsz);
    notes += length;
    bytes -= length;
  }
}

int search_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& search = *static_cast<NoteSearch*>(data);
  const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
  const bool holds = std::ranges::any_of(headers, [&](const ElfW(Phdr) & each) {
    return each.p_type == PT_LOAD && search.address - object->dlpi_addr - each.p_vaddr < each.p_memsz;
  });
  if (!holds) return 0;
  for (const ElfW(Phdr) & each : headers) {
    if (each.p_type == PT_NOTE)
      search_notes(reinterpret_cast<const std::byte*>(object->dlpi_addr + each.p_vaddr), each.p_memsz,
                   search.found);
  }
  return 1;
}

}  // namespace

std::string FormKey::name() const { return "form" + hexadecimal(high, low); }

FormKey form_key(std::string_view text) {
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes_at(text.data(), text.size()));
  return {hash.low64, hash.high64};
}

/// Without a build id, uses the file's name, size and time.
std::string build_identity() {
  NoteSearch search{reinterpret_cast<std::uintptr_t>(&form_key), {}};
  dl_iterate_phdr(&search_object, &search);
  if (!search.found.empty()) return search.found;
  Dl_info info{};
  struct stat status {};
  if (dladdr(reinterpret_cast<const void*>(&form_key), &info) == 0 || stat(info.dli_fname, &status) != 0)
    return {};
  return std::string(info.dli_fname) + ' ' + std::to_string(status.st_size) + ' ' +
         std::to_string(status.st_mtim.tv_sec) + '.' + std::to_string(status.st_mtim.tv_nsec);
}

std::unique_ptr<CodeCache> CodeCache::of_user(std::string_view processor) {
  const std::string identity = build_identity();
  const fs::path folder = user_cache_folder("LYNXPP_CPU_CACHE", "cpu");
  if (identity.empty() || folder.empty()) return nullptr;
  Result<std::unique_ptr<CodeCache>> cache = open(folder, identity + '\n' + std::string(processor));
  if (cache) return std::move(*cache);
  const std::string& reason = cache.error().diagnostics.front().message;
  if (setting("LYNXPP_CPU_CACHE") != nullptr) {
    log().warn("the cpu device does not cache compiled code: {}", reason);
  } else {
    log().info("the cpu device does not cache compiled code: {}", reason);
  }
  return nullptr;
}

Result<std::unique_ptr<CodeCache>> CodeCache::open(const fs::path& folder, std::string_view version) {
  const Result<PrivateFolder> opened = PrivateFolder::make(folder);
  if (!opened) return opened.error();
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes_at(version.data(), version.size()));
  std::unique_ptr<CodeCache> cache(new CodeCache(opened->path(), hexadecimal(hash.high64, hash.low64)));
  cache->read(*opened);
  return cache;
}

/// Reads up to the first incomplete record, which a killed process may have left; the next writer removes it.
void CodeCache::read(const PrivateFolder& folder) {
  content_ = folder.read(file_, greatest_file).value_or("");
  const auto* const bytes = reinterpret_cast<const std::byte*>(content_.data());
  RecordHeader header;
  for (std::uint64_t at = 0; begins_record(bytes + at, content_.size() - at, header);
       at += record_bytes(header)) {
    FormKey form;
    for (std::uint64_t i = 0; i < header.forms; ++i) {
      std::memcpy(&form, bytes + at + sizeof header + i * sizeof form, sizeof form);
      records_.emplace(form, at);
    }
  }
}

std::optional<CodeCache::Record> CodeCache::find(const FormKey& form) const {
  const auto found = records_.find(form);
  if (found == records_.end()) return std::nullopt;
  const auto* const record = reinterpret_cast<const std::byte*>(content_.data()) + found->second;
  RecordHeader header;
  std::memcpy(&header, record, sizeof header);
  if (checksum_of(record, record_bytes(header)) != header.checksum) return std::nullopt;
  return Record{{reinterpret_cast<const FormKey*>(record + sizeof header), header.forms},
                {record + object_offset(header), header.object_bytes}};
}

namespace {

/// Returns the end of the last complete record. Precondition: no other process writes.
std::uint64_t end_of_records(int file, std::uint64_t bytes) {
  std::uint64_t at = 0;
  RecordHeader header;
  while (pread(file, &header, sizeof header, static_cast<off_t>(at)) == sizeof header &&
         begins_record(reinterpret_cast<const std::byte*>(&header), bytes - at, header))
    at += record_bytes(header);
  return at;
}

}  // namespace

void CodeCache::add(std::span<const FormKey> forms, std::span<const std::byte> object) const {
  RecordHeader header;
  header.forms = forms.size();
  header.object_bytes = object.size();
  std::vector<std::byte> record(record_bytes(header));
  std::memcpy(record.data() + sizeof header, forms.data(), forms.size_bytes());
  std::memcpy(record.data() + object_offset(header), object.data(), object.size());
  header.checksum = checksum_of(record.data(), record.size());
  std::memcpy(record.data(), &header, sizeof header);
  const Result<PrivateFolder> folder = PrivateFolder::make(folder_);
  if (!folder) return;
  const Descriptor file = folder->open_file(file_, O_RDWR | O_CREAT);
  struct stat status {};
  if (!file || flock(file.number(), LOCK_EX) != 0 || fstat(file.number(), &status) != 0) return;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes + record.size() > greatest_file) {
    folder->remove(file_);  // processes that have it open keep reading it
    return;
  }
  if (bytes == 0) remove_old_files(*folder);
  const auto end = static_cast<off_t>(end_of_records(file.number(), bytes));
  if (end != status.st_size && ftruncate(file.number(), end) != 0) return;
  if (lseek(file.number(), end, SEEK_SET) != end) return;
  if (!write_all(file, record) && ftruncate(file.number(), end) != 0) return;
}

}  // namespace lynxpp::device::cpu
