// CuMAPz's description of a kernel (its Figure 4): the launch, references to global memory, and which of them
// fetch into shared memory. The text is documented in docs/advise.md; an example:
//
//   const N = 1024;
//   choice shift = 0, 1;                          // two variants
//   grid (N / 16, N / 16);
//   block (16, 16);
//   array in of 4;                                // bytes of an element
//   shared tile[16 * 16] of 4;
//   let at = (blockIdx.y * 16 + threadIdx.y) * N + blockIdx.x * 16 + threadIdx.x;
//   fetch tile[threadIdx.y * 16 + threadIdx.x] = in[at + shift];
//   read in[at];                                  // from the tile, where it was fetched
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/cumapz/expression.h"
#include "support/result.h"

namespace lynxpp::models::cumapz {

/// Slots of the frame that the launch fills; constants, choices and variables follow.
enum Builtin : std::uint32_t {
  thread_index = 0,
  block_index = 3,
  block_size = 6,
  grid_size = 9,
  builtins = 12
};

struct Constant {
  std::string name;
  std::uint32_t slot = 0;
  std::vector<Expression> values;  ///< of a choice: several
  bool is_choice = false;
};

/// How threads reach an array of global memory.
enum class Path : std::uint8_t {
  direct,
  texture,  ///< through the texture cache, which only reads
  constant  ///< through the constant cache, which only reads
};

/// In global memory; begins at a multiple of the width of all channels.
struct Array {
  std::string name;
  Expression element_bytes;
  Path path = Path::direct;
};

/// In shared memory, a block's own.
struct SharedArray {
  std::string name;
  Expression elements;
  Expression element_bytes;
};

/// name[index]
struct Element {
  bool is_shared = false;
  std::uint32_t array = 0;  ///< of `arrays` or of `shared`
  Expression index;
  std::string text;  ///< as it is written
};

struct Statement {
  enum class Kind : std::uint8_t { block, let, fetch, store, read, write, arithmetic, choose, loop };
  Kind kind = Kind::block;
  Position position;
  std::uint32_t slot = 0;         ///< of let and loop
  std::uint32_t reference = 0;    ///< of fetch, store, read and write: its number
  Expression first;               ///< of let, arithmetic, choose (the condition) and loop (where it begins)
  Expression condition;           ///< of loop
  Expression step;                ///< of loop
  std::vector<Element> elements;  ///< of fetch and store: shared, global; else one
  std::vector<Statement> statements;  ///< of block: all; choose: one or two; loop: one
};

struct Description {
  std::string file;
  std::vector<Constant> constants;  ///< in the order of the text
  std::array<Expression, 3> grid;   ///< empty: 1
  std::array<Expression, 3> block;
  std::array<Expression, 3> order;  ///< the block that each becomes; empty: itself
  Expression registers;             ///< of a thread; empty: they limit nothing
  std::vector<Array> arrays;
  std::vector<SharedArray> shared;
  std::vector<Statement> statements;
  std::uint32_t slots = 0;       ///< of the frame
  std::uint32_t references = 0;  ///< how many fetches, stores, reads and writes
};

/// Fails with located diagnostics.
Result<Description> parse_description(const std::string& text, const std::string& file);

/// How a shared array's elements lie, other than it is written: with the rows' first elements apart by more
/// than a row, or column behind column. 0 elements in a row: as it is written.
struct SharedLayout {
  std::int64_t row = 0;
  std::int64_t padding = 0;  ///< elements behind each row, or column
  bool by_columns = false;
};

/// A description with one value for each choice: what the analysis works on.
struct Variant {
  std::vector<std::pair<std::string, std::int64_t>> choices;
  std::vector<std::int64_t> constants;  ///< values, as in Description::constants
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{1, 1, 1};
  std::int64_t registers = 0;
  std::vector<std::int64_t> array_bytes;   ///< of an element, as in Description::arrays
  std::vector<std::int64_t> shared_bytes;  ///< likewise, of shared ones
  std::vector<std::int64_t> shared_elements;
  std::vector<SharedLayout> layouts;  ///< as in Description::shared, or empty: all as they are written
  bool is_diagonal = false;           ///< the order of blocks is by diagonals; the description has none then
  bool swaps_threads = false;  ///< threadIdx.x is threadIdx.y, and the other way round; of square blocks

  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  /// Which a shared array takes, with its padding.
  std::int64_t elements_of_shared(std::size_t array) const;
  /// Of all shared arrays together.
  std::int64_t bytes_of_shared() const;
  /// Where in the array an element lies.
  std::int64_t place_in_shared(std::size_t array, std::int64_t index) const;
};

/// Every combination of the choices. `given` replaces values of constants and choices by name; a name that is
/// not there, a value out of range and more than 10,000 combinations are errors.
Result<std::vector<Variant>> variants_of(const Description& description,
                                         const std::map<std::string, std::int64_t>& given);

}  // namespace lynxpp::models::cumapz
