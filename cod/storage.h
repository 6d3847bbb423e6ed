// The storage that a specification declares, and the parameter slots through which handlers find it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"

namespace lynxpp::cod {

/// shared_words: 4-byte words of a thread block's shared memory. device_words: 4-byte words of the device
/// memory that the program has allocated. lynx: of Lynx's untyped globalMem, see value_of().
enum class Extent {
  constant,
  basic_blocks,
  instructions,
  blocks,
  warps,
  threads,
  sms,
  lanes,
  shared_words,
  device_words,
  lynx
};

struct Dimension {
  Extent extent = Extent::constant;
  std::uint64_t constant = 1;
  std::string name;  ///< as written: "BASIC_BLOCKS", "4"
};

/// Scalar types of the language, identical on device and host.
enum class ScalarType { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };
std::uint32_t size_of(ScalarType type);

/// `global unsigned long counts[THREADS];` Without dimensions it has one element. Elements are zero when a
/// launch begins, except those that set_initial_values() writes.
struct GlobalArray {
  std::string name;
  ScalarType type = ScalarType::u64;
  std::vector<Dimension> dimensions;
  bool is_hidden = false;                  ///< belongs to a trace, histogram or map; not a result by itself
  std::vector<std::uint8_t> initial = {};  ///< bytes of the first elements
  bool fills = false;                      ///< `initial` is one element, the initial value of all
  bool counts_words = false;               ///< countWords() adds to it
  bool counts_ranges = false;  ///< emitWords() gets it as live ranges, which it emits if counts are exact
};

/// A variable that the instrumented variant declares for the handlers, which refer to it as
/// `__lynxpp_memory_<index>`: a `shared` array, one per thread block with undefined initial contents, or a
/// constant table in the global state space.
struct ModuleVariable {
  std::string name;
  bool is_shared = true;
  std::uint64_t bytes = 0;            ///< 0 if no handler needs it
  std::vector<std::uint8_t> initial;  ///< tables: `bytes` bytes
};

/// An access to an array element in a handler.
struct CheckedAccess {
  std::string array;
  SourceLocation location;
};

/// A 64-bit parameter slot of the instrumented kernel, which a handler reads as `__lynxpp_word_<index>`.
struct Word {
  enum class Kind {
    array_address,  ///< device address of arrays()[index]
    extent,         ///< value of `extent` for the launch
    /// Address of 64-bit counts of out-of-bounds accesses: first of all accesses not listed in
    /// checked_accesses(), then one per entry of it.
    dropped,
    word_map,  ///< address map for DEVICE_WORDS: WordMap::word(index)
    /// Byte offset in dynamic shared memory of the counters that replace arrays()[index]
    /// (WordScheme::shared_bits); 0 if they do not exist.
    shared_counters,
    allocations,  ///< address of allocation_table()
  };
  Kind kind = Kind::array_address;
  std::uint32_t index = 0;
  Extent extent = Extent::constant;
};

/// A per-thread variable at file scope, held in the register `__lynxpp_state_<index>`. Zero before its
/// initialiser runs.
struct StateVariable {
  std::string name;
  ScalarType type = ScalarType::u64;
};

/// The values of all extents for a launch.
struct LaunchExtents {
  std::uint64_t basic_blocks = 0;
  std::uint64_t instructions = 0;
  std::uint64_t blocks = 0;
  std::uint64_t warps = 0;  ///< blocks × ceil(threads per block / 32)
  std::uint64_t threads = 0;
  std::uint64_t sms = 0;  ///< an upper bound of %smid + 1
  std::uint64_t shared_words = 0;
  std::uint64_t device_words = 0;
};
std::uint64_t value_of(const Dimension& dimension, const LaunchExtents& extents);
/// Number of elements of the array; 0 if the product does not fit 64 bits.
std::uint64_t element_count(const GlobalArray& array, const LaunchExtents& extents);
/// Size of the prefix of an array of `bytes` bytes that is not zero when a launch begins.
std::uint64_t initial_bytes(const GlobalArray& array, std::uint64_t bytes);
/// Writes the initial values. Precondition: `elements` has at least initial_bytes() bytes, all zero.
void set_initial_values(const GlobalArray& array, std::span<std::byte> elements);
/// True if the array has the extent SHARED_WORDS or DEVICE_WORDS: its elements correspond to memory words.
bool is_of_words(const GlobalArray& array);

}  // namespace lynxpp::cod
