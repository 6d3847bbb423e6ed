// CuMAPz's description of a kernel (its Figure 4): the launch, references to global memory, and those that
// fetch into shared memory. docs/advise.md documents the text; an example:
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

/// Slots of the frame that the launch sets; constants, choices and variables follow.
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
  std::vector<Expression> values;  ///< a choice has several
  bool is_choice = false;
};

/// Path from threads to an array in global memory.
enum class Path : std::uint8_t {
  direct,
  texture,  ///< through the read-only texture cache
  constant  ///< through the read-only constant cache
};

/// An array in global memory; begins at a multiple of the total width of all channels.
struct Array {
  std::string name;
  Expression element_bytes;
  Path path = Path::direct;
};

/// An array in a block's shared memory.
struct SharedArray {
  std::string name;
  Expression elements;
  Expression element_bytes;
};

/// name[index]
struct Element {
  bool is_shared = false;
  std::uint32_t array = 0;  ///< index in `arrays` or `shared`
  Expression index;
  std::string text;  ///< as written
};

struct Statement {
  enum class Kind : std::uint8_t { block, let, fetch, store, read, write, arithmetic, choose, loop };
  Kind kind = Kind::block;
  Position position;
  std::uint32_t slot = 0;         ///< let and loop: the variable
  std::uint32_t reference = 0;    ///< fetch, store, read and write: its index
  Expression first;               ///< let, arithmetic, choose (the condition) and loop (the initial value)
  Expression condition;           ///< loop
  Expression step;                ///< loop
  std::vector<Element> elements;  ///< fetch and store: shared, global; otherwise one
  std::vector<Statement> statements;  ///< block: all; choose: one or two; loop: one
};

struct Description {
  std::string file;
  std::vector<Constant> constants;  ///< in textual order
  std::array<Expression, 3> grid;   ///< empty: 1
  std::array<Expression, 3> block;
  std::array<Expression, 3> order;  ///< the block that each becomes; empty: itself
  Expression registers;             ///< per thread; empty: not limiting
  std::vector<Array> arrays;
  std::vector<SharedArray> shared;
  std::vector<Statement> statements;
  std::uint32_t slots = 0;       ///< size of the frame
  std::uint32_t references = 0;  ///< number of fetches, stores, reads and writes
};

/// Fails with located diagnostics.
Result<Description> parse_description(const std::string& text, const std::string& file);

/// A changed layout of a shared array: with padded rows, or in column-major order. 0 elements per row: the
/// original layout.
struct SharedLayout {
  std::int64_t row = 0;
  std::int64_t padding = 0;  ///< elements after each row or column
  bool by_columns = false;
};

/// A description with one value for each choice: the input of the analysis.
struct Variant {
  std::vector<std::pair<std::string, std::int64_t>> choices;
  std::vector<std::int64_t> constants;  ///< values, as in Description::constants
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{1, 1, 1};
  std::int64_t registers = 0;
  std::vector<std::int64_t> array_bytes;   ///< element size, as in Description::arrays
  std::vector<std::int64_t> shared_bytes;  ///< the same for shared arrays
  std::vector<std::int64_t> shared_elements;
  std::vector<SharedLayout> layouts;  ///< as in Description::shared; empty: all original
  bool is_diagonal = false;           ///< diagonal block order; the description must have no order
  bool swaps_threads = false;         ///< exchanges threadIdx.x and threadIdx.y; for square blocks

  std::int64_t threads() const { return block[0] * block[1] * block[2]; }
  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
  /// Number of elements that a shared array occupies, including padding.
  std::int64_t elements_of_shared(std::size_t array) const;
  /// Total size of all shared arrays.
  std::int64_t bytes_of_shared() const;
  /// Position of an element in the array.
  std::int64_t position_in_shared(std::size_t array, std::int64_t index) const;
};

/// Returns every combination of the choices. `given` replaces values of constants and choices by name. Fails
/// for an unknown name, a value out of range, and more than 10,000 combinations.
Result<std::vector<Variant>> variants_of(const Description& description,
                                         const std::map<std::string, std::int64_t>& given);

}  // namespace lynxpp::models::cumapz
