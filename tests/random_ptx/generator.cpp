#include "generator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "builder.h"
#include "operations.h"

namespace lynxpp::random_ptx {
namespace {

/// Registers of each type at the outermost level.
constexpr std::pair<char, std::size_t> pool_sizes[] = {{'h', 4}, {'r', 8}, {'d', 6}, {'f', 4},
                                                       {'g', 3}, {'x', 3}, {'y', 2}, {'p', 5}};

Word interesting(Random& random) {
  static constexpr Word words[] = {0,
                                   1,
                                   2,
                                   31,
                                   32,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   ~Word{0}};
  const Word high = random.next();
  const Word any = high << 32 | random.next();
  return random.below(3) == 0 ? words[random.below(std::size(words))] : any >> random.below(3) * 16;
}

class Generator {
 public:
  explicit Generator(const Wish& wish) : wish_(wish), random_(wish.seed) {}

  Program make() {
    static constexpr std::uint32_t blocks[][2] = {{32, 1}, {64, 1}, {16, 4}, {48, 1}, {128, 1}, {20, 3}};
    const auto& block = blocks[random_.below(std::size(blocks))];
    program_.kernel = "random_" + std::to_string(wish_.seed);
    program_.block[0] = block[0];
    program_.block[1] = block[1];
    const std::uint32_t count = 1 + random_.below(2);
    for (std::uint32_t i = 0; i < count; ++i) make_function(i);
    make_kernel();
    compute();
    return std::move(program_);
  }

 private:
  void make_function(std::uint32_t number) {
    Function& function = functions_.emplace_back();
    function.name = "f" + std::to_string(number);
    const bool by_memory = wish_.seed % 2 == 0;
    Builder builder(random_, program_.threads(), wish_.trips);
    builder.begin(pool_sizes);
    function.parameters = {builder.pick('r'), builder.pick('d')};
    function.result = builder.pick('r');
    builder.zero_all(function.parameters);
    builder.statements(std::min(wish_.statements, 8u), 2);
    function.body = builder.finish();
    function.registers = builder.register_count();
    const auto name = [&](std::size_t i) { return function.parameters[i].name; };
    if (by_memory) {
      functions_text_ += ".func (.param .b32 rv) " + function.name + " (.param .b32 pa, .param .b64 pb) {\n" +
                         builder.declarations() + "ld.param.b32 " + name(0) + ", [pa];\nld.param.b64 " +
                         name(1) + ", [pb];\n" + builder.text() + "st.param.b32 [rv], " +
                         function.result.name + ";\nret;\n}\n";
    } else {
      functions_text_ += ".func (.reg .b32 rv) " + function.name + " (.reg .b32 pa, .reg .b64 pb) {\n" +
                         builder.declarations() + "mov.b32 " + name(0) + ", pa;\nmov.b64 " + name(1) +
                         ", pb;\n" + builder.text() + "mov.b32 rv, " + function.result.name + ";\nret;\n}\n";
    }
  }

  void make_kernel() {
    Builder builder(random_, program_.threads(), wish_.trips);
    builder.allow_kernel_statements(functions_, wish_.seed % 2 == 0);
    builder.begin(pool_sizes);
    builder.load_inputs();
    builder.statements(wish_.statements, 0);
    const std::string stores = builder.store_outputs(program_.words_of_output);
    outputs_ = builder.outputs();
    registers_ = builder.register_count();
    body_ = builder.finish();
    program_.text = ".version 8.8\n.target sm_90\n.address_size 64\n" + functions_text_ + ".visible .entry " +
                    program_.kernel +
                    "(.param .u64 in, .param .u64 out, .param .u64 scratch, .param .u64 sums)\n{\n" +
                    builder.declarations() + builder.prologue(program_.words_of_output) + builder.text() +
                    stores + "ret;\n}\n";
  }

  void compute() {
    Block block;
    block.threads = program_.threads();
    block.sums.assign(sum_count, 0);
    block.warps.resize((block.threads + lanes_of_warp - 1) / lanes_of_warp);
    for (std::uint32_t t = 0; t < block.threads; ++t) {
      Warp& warp = block.warps[t / lanes_of_warp];
      warp.alive |= 1u << t % lanes_of_warp;
      Thread& thread = warp.lanes[t % lanes_of_warp];
      thread.registers.assign(registers_, 0);
      thread.number = t;
      thread.sums = &block.sums;
      for (std::size_t i = 0; i < words_of_input; ++i) program_.in.push_back(interesting(random_));
      thread.input = program_.in.data();
    }
    for (std::uint32_t t = 0; t < block.threads; ++t)
      block.warps[t / lanes_of_warp].lanes[t % lanes_of_warp].input = program_.in.data() + t * words_of_input;
    execute(*body_, block);
    for (std::uint32_t t = 0; t < block.threads; ++t) {
      const Warp& warp = block.warps[t / lanes_of_warp];
      const bool wrote = (warp.alive >> t % lanes_of_warp & 1) != 0;
      const Thread& thread = warp.lanes[t % lanes_of_warp];
      for (std::size_t i = 0; i < program_.words_of_output; ++i)
        program_.expected.push_back(wrote ? thread.registers[outputs_[i]] : ~Word{0});
    }
    program_.sums = block.sums;
  }

  const Wish wish_;
  Random random_;
  Program program_;
  std::vector<Function> functions_;
  std::string functions_text_;
  std::shared_ptr<Statements> body_;
  std::vector<std::size_t> outputs_;
  std::size_t registers_ = 0;
};

}  // namespace

Program random_program(const Wish& wish) { return Generator(wish).make(); }

}  // namespace lynxpp::random_ptx
