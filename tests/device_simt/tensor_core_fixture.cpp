#include "tensor_core_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <stdexcept>

namespace lynxpp::device::cpu::test {
namespace tensor_core_reference {
namespace {

constexpr unsigned shared_bytes = 49152;

double value_of(const std::string& type, std::uint32_t bits) {
  if (type == "e2m3") return value_of_float(bits, 2, 3);
  if (type == "e3m2") return value_of_float(bits, 3, 2);
  if (type == "e2m1") return value_of_float(bits, 2, 1);
  return value_of_element(type, bits);
}

unsigned element_bits(const std::string& type) {
  if (type == "e2m1") return 4;
  return type == "e2m3" || type == "e3m2" ? 6 : bits_of_element(type);
}

std::uint32_t random_of(const std::string& type, std::uint32_t random) {
  const unsigned bits = element_bits(type);
  return bits < 8 ? random & ((1u << bits) - 1) : random_element(type, random);
}

/// Number of a type in an instruction descriptor (PTX ISA, tables of instruction descriptors).
unsigned number_of_type(const std::string& type) {
  if (type == "bf16" || type == "e5m2" || type == "s8") return 1;
  if (type == "tf32") return 2;
  if (type == "e2m3") return 3;
  if (type == "e3m2") return 4;
  return type == "e2m1" ? 5 : 0;
}

/// The figures of the data path layouts: block, lane and column of an element of D.
struct Cell {
  unsigned block, lane, column;
};
Cell cell_of_d(const TensorProduct& form, unsigned i, unsigned j) {
  const unsigned n = form.n;
  if (form.blocks == 2 && form.m == 256) return {i / 128, i % 128, j};                // layout A
  if (form.blocks == 2) return {i / 64, i % 64 + (j < n / 2 ? 0 : 64), j % (n / 2)};  // layout B
  if (form.m == 128) return {0, i, j};                                                // layout D
  if (form.m == 32) return {0, i + j / (n / 4) * 32, j % (n / 4)};                    // layout G
  if (form.is_stationary) return {0, i + (j < n / 2 ? 0 : 64), j % (n / 2)};          // layout E
  return {0, form.first_lane + i / 16 * 32 + i % 16, j};                              // layout F
}

}  // namespace
}  // namespace tensor_core_reference

using namespace tensor_core_reference;

TensorImage numbered_image(unsigned columns) {
  TensorImage made(columns);
  for (unsigned column = 0; column < columns; ++column) {
    for (unsigned lane = 0; lane < 128; ++lane) made[column][lane] = (column << 16 | lane) * 0x9e3779b1u;
  }
  return made;
}

std::shared_ptr<LoadedModule> load_for_blackwell(const std::string& body) {
  const std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n" + body;
  if (const char* const folder = std::getenv("LYNXPP_TEST_PTX"); folder != nullptr)
    std::ofstream(std::string(folder) + "/" + std::to_string(std::hash<std::string>{}(text)) + ".ptx")
        << text;
  Result<std::shared_ptr<LoadedModule>> module = load_module(text, "test.ptx");
  if (module) return *module;
  ADD_FAILURE() << render(module.error().diagnostics);
  return nullptr;
}

std::string TensorProgram::kernel() const {
  std::string text = whole_kernel();
  if (removed.empty()) return text;
  const std::size_t at = text.find(removed);
  if (at == std::string::npos) throw std::logic_error("the kernel does not contain '" + removed + "'");
  return text.replace(at, removed.size(), added);
}

std::string TensorProgram::whole_kernel() const {
  const std::string group = std::to_string(blocks);
  const std::string cluster =
      blocks == 2 ? "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n" : "";
  return R"(.visible .entry test(.param .u64 tensor, .param .u64 image, .param .u32 words, .param .u32 columns,
                     .param .u64 da, .param .u64 db, .param .u32 idesc, .param .u64 scratch) {
  .shared .align 1024 .b8 tile[49152];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 held;
  .reg .b64 %tensor, %image, %da, %db, %offset, %tile, %cell, %scratch;
  .reg .b32 %t, %words, %columns, %at, %value, %idesc, %rank, %taddr, %lanes, %bar, %c, %cta, %at2, %v<128>, %m<8>;
  .reg .pred %p, %q, %first, %more;
  ld.param.u64 %tensor, [tensor];
  ld.param.u64 %image, [image];
  ld.param.u32 %words, [words];
  ld.param.u32 %columns, [columns];
  ld.param.u64 %da, [da];
  ld.param.u64 %db, [db];
  ld.param.u32 %idesc, [idesc];
  ld.param.u64 %scratch, [scratch];
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mul.lo.u32 %c, %words, %cta;
  mul.wide.u32 %offset, %c, 4;
  add.u64 %image, %image, %offset;
  mul.lo.u32 %c, %columns, %cta;
  mul.wide.u32 %offset, %c, 512;
  add.u64 %tensor, %tensor, %offset;
  mul.wide.u32 %offset, %t, 4;
  add.u64 %tensor, %tensor, %offset;
  setp.eq.u32 %first, %t, 0;
  mov.u32 %bar, bar;
  @%first mbarrier.init.shared.b64 [%bar], 1;
  mov.u32 %v0, %t;
)" + image_copy("%v0") +
         R"(  shr.u32 %lanes, %t, 5;
  setp.ne.u32 %q, %lanes, 0;
  @%q bra allocated;
  tcgen05.alloc.cta_group::)" +
         group + ".sync.aligned.shared::cta.b32 [held], " + std::to_string(allocated) + R"(;
allocated:
  bar.sync 0;
  ld.shared.b32 %taddr, [held];
  shl.b32 %lanes, %lanes, 21;
  mov.u64 %cell, %tensor;
  mov.u32 %c, 0;
fill:
  setp.lt.u32 %more, %c, %columns;
  @!%more bra filled;
  ld.global.b32 %value, [%cell];
  add.u32 %at, %taddr, %lanes;
  add.u32 %at, %at, %c;
  tcgen05.st.sync.aligned.32x32b.x1.b32 [%at], {%value};
  add.u64 %cell, %cell, 512;
  add.u32 %c, %c, 1;
  bra fill;
filled:
  tcgen05.wait::st.sync.aligned;
)" + descriptors_at_tile() +
         R"(  setp.eq.u32 %p, 0, 0;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
)" + cluster +
         "  tcgen05.fence::after_thread_sync;\n" + code + R"(
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  mov.u64 %cell, %tensor;
  mov.u32 %c, 0;
drain:
  setp.lt.u32 %more, %c, %columns;
  @!%more bra drained;
  add.u32 %at, %taddr, %lanes;
  add.u32 %at, %at, %c;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%value}, [%at];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%cell], %value;
  add.u64 %cell, %cell, 512;
  add.u32 %c, %c, 1;
  bra drain;
drained:
  bar.sync 0;
)" + cluster +
         R"(  @%q bra released;
  tcgen05.dealloc.cta_group::)" +
         group + ".sync.aligned.b32 %taddr, " + std::to_string(allocated) + R"(;
  tcgen05.relinquish_alloc_permit.cta_group::)" +
         group + R"(.sync.aligned;
released:
  ret;
}
)";
}

std::string TensorProgram::run(LaunchChecks* checks) {
  const auto module = load_for_blackwell(kernel());
  if (module == nullptr) return "not loaded";
  std::size_t image_bytes = 4;
  for (const auto& each : image) image_bytes = std::max(image_bytes, (each.size() + 3) / 4 * 4);
  EXPECT_LE(image_bytes, shared_bytes);
  std::vector<std::byte> images(image_bytes * blocks);
  std::vector<std::uint32_t> words;
  for (unsigned block = 0; block < blocks; ++block) {
    std::ranges::copy(image[block], images.begin() + static_cast<std::ptrdiff_t>(block * image_bytes));
    tensor[block].resize(columns);
    for (const auto& column : tensor[block]) words.insert(words.end(), column.begin(), column.end());
  }
  const Arguments arguments(words.data(), images.data(), static_cast<std::uint32_t>(image_bytes / 4), columns,
                            a, b, idesc, scratch.data());
  LaunchShape shape{{blocks, 1, 1}, {128, 1, 1}, 0};
  if (blocks == 2) shape.cluster = Dim3{2, 1, 1};
  const std::string text =
      text_of(module->launch("test", shape, arguments.bytes(), nullptr, nullptr, checks));
  std::size_t next = 0;
  for (unsigned block = 0; block < blocks; ++block) {
    for (auto& column : tensor[block]) {
      for (std::uint32_t& word : column) word = words[next++];
    }
  }
  return text;
}

std::string commit_and_wait() {
  return R"(  @%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
again:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra again;
  setp.ge.u32 %q, %t, 32;
  tcgen05.fence::after_thread_sync;
)";
}

std::string in_first_block(const std::string& instruction) {
  return R"(  .reg .b16 %mask;
  mov.u32 %rank, %cluster_ctarank;
  setp.ne.u32 %q, %rank, 0;
  @%q bra issued;
  @%first )" +
         instruction + R"(  mov.b16 %mask, 3;
  @%first tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %mask;
issued:
again:
  mbarrier.try_wait.parity.shared.b64 %q, [%bar], 0;
  @!%q bra again;
  setp.ge.u32 %q, %t, 32;
  tcgen05.fence::after_thread_sync;
)";
}

std::uint64_t tensor_core_descriptor(const OperandLayout& layout, const PlacedMatrix& placed) {
  const std::uint64_t mode = layout.pairs         ? 1
                             : layout.pieces == 1 ? 0
                             : layout.pieces == 8 ? 2
                             : layout.pieces == 4 ? 4
                                                  : 6;
  return descriptor_field(placed.begin) | descriptor_field(placed.leading) << 16 |
         descriptor_field(placed.stride) << 32 | std::uint64_t{1} << 46 | std::uint64_t{layout.shift} << 49 |
         mode << 61;
}

unsigned TensorProduct::k() const {
  if (kind == "mxf4" || kind == "mxf4nvf4") return is_sparse ? 128 : 64;
  return (kind == "f16" ? 16 : kind == "tf32" ? 8 : 32) * (is_sparse ? 2 : 1);
}

std::uint32_t TensorProduct::idesc() const {
  std::uint32_t bits = (negates_a ? 1u << 13 : 0) | (negates_b ? 1u << 14 : 0) |
                       (layout_a.mn_major ? 1u << 15 : 0) | (layout_b.mn_major ? 1u << 16 : 0) | n / 8 << 17 |
                       m / 16 << 24;
  const bool is_four = kind == "mxf4" || kind == "mxf4nvf4";
  bits |= (is_four ? 1u : number_of_type(a)) << 7 | (is_four ? 1u : number_of_type(b)) << 10;
  if (scale_block != 0)
    return bits | (is_sparse ? 4 : 0) | scale_number << 4 | scale_number << 29 |
           (has_small_scales ? 0u : 1u << 23);
  bits |= is_sparse ? 4 | selector : 0;
  return bits | (saturates ? 1u << 3 : 0) | (d == "f16" ? 0u : d == "f32" ? 1u : 2u) << 4;
}

std::string TensorProduct::opcode() const {
  return std::string("tcgen05.mma") + (is_stationary ? ".ws" : "") + (is_sparse ? ".sp" : "") +
         ".cta_group::" + std::to_string(blocks) + ".kind::" + kind + (scales.empty() ? "" : "." + scales);
}

namespace tensor_core_reference {
namespace {

/// The matrices of a product, as bits.
struct Matrices {
  std::vector<std::vector<std::uint32_t>> a, b, c;           // [row][k], [column][k], [row][column]
  std::vector<std::vector<std::uint32_t>> scale_a, scale_b;  // [row][block], [column][block]
  std::vector<std::vector<std::uint32_t>> chunks;            // [row][chunk]: metadata of a sparse A

  /// The k of an element that sparse A stores.
  unsigned k_of(const TensorProduct& form, unsigned row, unsigned index) const {
    if (!form.is_sparse) return index;
    if (form.kind == "tf32") return index * 2 + (chunks[row][index] == 0xe ? 1 : 0);
    if (form.k() == 128)  // four elements of eight, in pairs
      return index / 4 * 8 + (chunks[row][index / 4] >> index % 4 / 2 * 2 & 3) * 2 + index % 2;
    return index / 2 * 4 + (chunks[row][index / 2] >> index % 2 * 2 & 3);
  }
};

Matrices random_product(const TensorProduct& form, unsigned seed) {
  std::mt19937 random(seed);
  const auto matrix = [&](unsigned rows, unsigned columns, const auto& element) {
    std::vector<std::vector<std::uint32_t>> made(rows, std::vector<std::uint32_t>(columns));
    for (auto& row : made) {
      for (std::uint32_t& each : row) each = element(static_cast<std::uint32_t>(random()));
    }
    return made;
  };
  const auto of = [](const std::string& type) {
    return [type](std::uint32_t bits) { return random_of(type, bits); };
  };
  Matrices made{matrix(form.m, form.stored(), of(form.a)),
                matrix(form.n, form.k(), of(form.b)),
                matrix(form.m, form.n, of(form.d)),
                {},
                {},
                {}};
  if (form.is_sparse) {
    const bool is_tf32 = form.kind == "tf32";
    made.chunks = matrix(form.m,
                         form.stored() / (is_tf32           ? 1
                                          : form.k() == 128 ? 4
                                                            : 2),
                         [&](std::uint32_t bits) -> std::uint32_t {
                           constexpr std::uint32_t pairs[] = {4, 8, 12, 9, 13, 6, 14};
                           return is_tf32 ? (bits % 2 == 0 ? 4 : 14) : pairs[bits % 7];
                         });
  }
  if (form.scale_block == 0) return made;
  const auto scale = [&](std::uint32_t bits) {
    return form.has_small_scales ? bits % 0x7f : 120 + bits % 16;
  };
  made.scale_a = matrix(form.m, form.k() / form.scale_block, scale);
  made.scale_b = matrix(form.n, form.k() / form.scale_block, scale);
  return made;
}

double scale_of(const TensorProduct& form, std::uint32_t bits) {
  return form.has_small_scales ? value_of_float(bits, 4, 3) : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

std::uint32_t expected_of(const TensorProduct& form, const Matrices& in, unsigned i, unsigned j) {
  double sum =
      form.adds ? std::ldexp(value_of(form.d, in.c[i][j]), -static_cast<int>(form.scale_shift)) : 0.0;
  const double sign = form.negates_a != form.negates_b ? -1 : 1;
  for (unsigned k = 0; k < form.stored(); ++k) {
    double a = sign * value_of(form.a, in.a[i][k]);
    double b = value_of(form.b, in.b[j][in.k_of(form, i, k)]);
    if (!form.zeros.empty() && form.zeros[j]) b = 0;
    if (form.scale_block != 0) {
      a *= scale_of(form, in.scale_a[i][in.k_of(form, i, k) / form.scale_block]);
      b *= scale_of(form, in.scale_b[j][in.k_of(form, i, k) / form.scale_block]);
    }
    sum += a * b;
  }
  return encode_result(form.d, form.saturates, sum);
}

/// Puts a matrix with elements along k into shared memory; narrow elements as 16 in 16 bytes.
PlacedMatrix place_narrow(std::vector<std::byte>& image, const OperandLayout& layout, const std::string& type,
                          bool packs, unsigned size, unsigned k_size,
                          const std::vector<std::vector<std::uint32_t>>& rows, unsigned first) {
  const unsigned bits = element_bits(type);
  if (bits >= 8)
    return place_matrix(image, layout, bits, size, k_size,
                        [&](unsigned mn, unsigned k) { return rows[first + mn][k]; });
  // Bytes of the padded row.
  const auto byte_of = [&](unsigned mn, unsigned at) {
    std::uint32_t byte = 0;
    const unsigned per_piece = packs ? 32 : 16;
    for (unsigned i = 0; i < per_piece; ++i) {
      const std::uint32_t value = rows[first + mn][at / 16 * per_piece + i];
      for (unsigned bit = 0; bit < bits; ++bit) {
        const unsigned to = i * bits + bit;
        if (to / 8 == at % 16) byte |= (value >> bit & 1) << to % 8;
      }
    }
    return byte;
  };
  return place_matrix(image, layout, 8, size, packs ? k_size / 2 : k_size, byte_of);
}

/// Puts the metadata of a block's rows into tensor memory (figures of sparsity metadata for 128 rows).
void place_metadata(const TensorProduct& form, const Matrices& in, unsigned first_row, unsigned column,
                    TensorImage& tensor) {
  const auto put = [&](unsigned at, unsigned lane, unsigned shift, std::uint32_t bits) {
    std::uint32_t& word = tensor[at][lane];
    word = (word & ~(15u << shift)) | bits << shift;
  };
  const bool is_wide = form.kind == "f16" || form.kind == "tf32";
  for (unsigned high = 0; high < 8; ++high) {
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned low = 0; low < 8; ++low) {
        const unsigned row = high * 16 + half * 8 + low;
        const auto& chunks = in.chunks[first_row + row];
        for (unsigned i = 0; i < chunks.size(); ++i) {
          if (is_wide)
            put(column + form.selector, high * 16 + (i < 4 ? 0 : 8) + low, half * 16 + i % 4 * 4, chunks[i]);
          else
            put(column + i / 8, row, i % 8 * 4, chunks[i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tensor_core_reference

void check_tensor_product(const TensorProduct& form, unsigned seed) {
  const Matrices in = random_product(form, seed);
  const bool packs = form.kind == "mxf4" || form.kind == "mxf4nvf4";
  TensorProgram program;
  program.blocks = form.blocks;
  program.idesc = form.idesc();
  constexpr unsigned a_column = 264, scale_a_column = 280, scale_b_column = 292, metadata_column = 302;
  program.columns = 304;
  std::string a = "%da";
  for (unsigned block = 0; block < form.blocks; ++block) {
    program.tensor[block] = numbered_image(program.columns);
    const unsigned rows = form.m / form.blocks;
    const unsigned columns = form.n / form.blocks;
    PlacedMatrix placed;
    if (!form.a_in_tensor)
      placed = place_narrow(program.image[block], form.layout_a, form.a, packs, rows, form.stored(), in.a,
                            block * rows);
    if (form.is_sparse) place_metadata(form, in, block * rows, metadata_column, program.tensor[block]);
    program.a = tensor_core_descriptor(form.layout_a, placed);
    placed = place_narrow(program.image[block], form.layout_b, form.b, packs, columns, form.k(), in.b,
                          block * columns);
    program.b = tensor_core_descriptor(form.layout_b, placed);
    // Scales are repeated in every 32 lanes: row i in lane i % 32, column i / 32.
    for (unsigned i = 0; form.scale_block != 0 && i < std::max(rows, form.n); ++i) {
      for (unsigned part = 0; part < 4; ++part) {
        for (unsigned s = 0; s < form.k() / form.scale_block; ++s) {
          const unsigned shift = 8 * (form.scale_number + s);
          const auto put = [&](unsigned column, std::uint32_t scale) {
            std::uint32_t& word = program.tensor[block][column + i / 32][part * 32 + i % 32];
            word = (word & ~(0xffu << shift)) | scale << shift;
          };
          if (i < rows) put(scale_a_column, in.scale_a[block * rows + i][s]);
          if (i < form.n) put(scale_b_column, in.scale_b[i][s]);
        }
      }
    }
  }
  for (unsigned i = 0; i < form.m; ++i) {
    for (unsigned j = 0; j < form.n; ++j) {
      const Cell at = cell_of_d(form, i, j);
      program.tensor[at.block][at.column][at.lane] = in.c[i][j];
    }
    if (!form.a_in_tensor) continue;
    // A has the lanes of D; its elements are packed in words.
    const Cell at = cell_of_d(form, i, 0);
    // Narrow elements are in the middle of bytes.
    const unsigned bits = std::max(element_bits(form.a), 8u);
    const unsigned padding = (bits - element_bits(form.a)) / 2;
    for (unsigned k = 0; k < form.stored(); ++k) {
      std::uint32_t& word = program.tensor[at.block][a_column + k * bits / 32][at.lane];
      const std::uint32_t mask = bits == 32 ? ~0u : ((1u << bits) - 1) << k * bits % 32;
      word = (word & ~mask) | in.a[i][k] << padding << k * bits % 32;
    }
  }
  const auto add = [](const char* to, unsigned columns, unsigned lane = 0) {
    return std::string("  add.u32 ") + to + ", %taddr, " + std::to_string(lane << 16 | columns) + ";\n";
  };
  std::string code = add("%v1", 0, form.first_lane) + add("%v2", a_column, form.first_lane) +
                     add("%v3", scale_a_column) + add("%v4", scale_b_column) + add("%v5", metadata_column);
  if (form.a_in_tensor) a = "[%v2]";
  std::string tail = form.scale_block != 0 ? ", [%v3], [%v4]" : "";
  for (std::size_t i = 0; i < form.disabled.size(); ++i)
    code += "  mov.b32 %m" + std::to_string(i) + ", " + std::to_string(form.disabled[i]) + ";\n";
  if (!form.disabled.empty()) tail += ", " + operand_list("%m", static_cast<unsigned>(form.disabled.size()));
  code += std::string("  setp.eq.u32 %p, 0, ") + (form.adds ? "0" : "1") + ";\n";
  tail += ", %p";
  if (form.scale_shift != 0) tail += ", " + std::to_string(form.scale_shift);
  if (form.zero_mask != 0) {
    code += "  mov.b64 %offset, " + std::to_string(form.zero_mask) + ";\n";
    tail += ", %offset";
  }
  const std::string product = form.opcode() + " [%v1], " + a + ", %db, " + (form.is_sparse ? "[%v5], " : "") +
                              "%idesc" + tail + ";\n";
  if (form.blocks == 1) {
    code += "  @%first " + product + commit_and_wait();
  } else {
    code += in_first_block(product);
  }
  program.code = code;
  TensorImage expected[2] = {program.tensor[0], program.tensor[1]};
  for (unsigned i = 0; i < form.m; ++i) {
    for (unsigned j = 0; j < form.n; ++j) {
      const Cell at = cell_of_d(form, i, j);
      const unsigned lane = at.block * 128 + at.lane;
      if (!form.disabled.empty() && (form.disabled[lane / 32] >> lane % 32 & 1) != 0) continue;
      expected[at.block][at.column][at.lane] = expected_of(form, in, i, j);
    }
  }
  ASSERT_EQ(program.run(), "") << form.opcode();
  for (unsigned block = 0; block < form.blocks; ++block) {
    for (unsigned column = 0; column < program.columns; ++column) {
      for (unsigned lane = 0; lane < 128; ++lane) {
        ASSERT_EQ(program.tensor[block][column][lane], expected[block][column][lane])
            << form.opcode() << " " << form.d << " " << form.a << " " << form.b << " M " << form.m << " N "
            << form.n << " at block " << block << ", lane " << lane << ", column " << column;
      }
    }
  }
}

}  // namespace lynxpp::device::cpu::test
