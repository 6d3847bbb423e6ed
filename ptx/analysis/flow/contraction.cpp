#include "ptx/analysis/flow/contraction.h"

#include <algorithm>
#include <map>
#include <optional>

namespace lynxpp::ptx {
namespace {

bool names_rounding(const Instruction& instruction) {
  return instruction.has_any({Modifier::rn, Modifier::rz, Modifier::rm, Modifier::rp});
}

bool is_fusable_type(DataType type) {
  switch (type) {
    case DataType::f16:
    case DataType::f16x2:
    case DataType::bf16:
    case DataType::bf16x2:
    case DataType::f32:
    case DataType::f64: return true;
    default: return false;
  }
}

bool is_open(const Instruction& instruction, Op op) {
  return instruction.op() == op && is_fusable_type(instruction.traits.type) && !names_rounding(instruction) &&
         instruction.operands.size() == 3;
}
bool is_open_product(const Instruction& instruction) { return is_open(instruction, Op::mul); }
bool is_open_sum(const Instruction& instruction) {
  return is_open(instruction, Op::add) || is_open(instruction, Op::sub);
}

/// True if lanes exchange values or query the active lanes.
bool looks_at_lanes(Op op) {
  return op == Op::vote || op == Op::shfl || op == Op::match || op == Op::activemask || op == Op::redux;
}

/// True for a division or root that becomes a call, with a slow path for exceptional operands.
bool is_called(const Instruction& instruction) {
  const Op op = instruction.op();
  const bool divides = op == Op::div || op == Op::rem;
  if (divides && !instruction.traits.is_floating) return size_of(instruction.traits.type) == 8;
  return (divides || op == Op::sqrt || op == Op::rcp) && names_rounding(instruction);
}

bool ends_stretch(const Instruction& instruction) {
  const OpcodeClass kind = instruction.traits.kind;
  if (kind == OpcodeClass::call || kind == OpcodeClass::fence || is_called(instruction)) return true;
  if (!instruction.guarded()) return false;
  if (kind == OpcodeClass::arithmetic || kind == OpcodeClass::data) return looks_at_lanes(instruction.op());
  return kind != OpcodeClass::memory || instruction.traits.space != StateSpace::param;
}

/// A sum that a product feeds.
struct Use {
  std::uint32_t sum = 0;
  std::uint32_t operand = 0;
  bool is_negated = false;
};

struct Product {
  std::uint32_t instruction = 0;
  bool is_fusable = true;
  std::vector<Use> uses;
};

class Finder {
 public:
  explicit Finder(FunctionAnalyses& analyses)
      : body_(*analyses.function().body),
        graph_(analyses.graph()),
        usage_(analyses.registers()),
        ssa_(analyses.ssa()) {}

  std::vector<ContractionStretch> run() {
    const std::vector<Instruction>& instructions = body_.instructions;
    number_stretches();
    std::map<std::uint32_t, std::vector<Product>> products;  // by stretch
    std::map<std::uint32_t, std::vector<std::uint32_t>> open;
    for (std::uint32_t i = 0; i < instructions.size(); ++i) {
      const bool is_product = is_open_product(instructions[i]);
      if (is_product || is_open_sum(instructions[i])) open[stretch_[i]].push_back(i);
      if (!is_product) continue;
      Product product = uses_of(i);
      if (!product.uses.empty()) products[stretch_[i]].push_back(std::move(product));
    }
    std::vector<ContractionStretch> found;
    for (const auto& [number, members] : products) {
      found.push_back(decide(members));
      found.back().open = std::move(open[number]);
    }
    return found;
  }

 private:
  void number_stretches() {
    stretch_.resize(body_.instructions.size());
    std::uint32_t number = 0;
    for (std::uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      if (!continues(block)) ++number;
      for (std::uint32_t i = graph_.blocks[block].begin; i < graph_.blocks[block].end; ++i) {
        stretch_[i] = number;
        if (ends_stretch(body_.instructions[i])) ++number;
      }
    }
  }

  /// True if the preceding block falls through to this one and has no other successor, and this one no other
  /// predecessor.
  bool continues(std::uint32_t block) const {
    const std::vector<std::uint32_t>& before = graph_.blocks[block].predecessors;
    return block != 0 && before.size() == 1 && before.front() == block - 1 &&
           graph_.blocks[block - 1].successors.size() == 1;
  }

  Product uses_of(std::uint32_t at) const {
    Product product{at, !body_.instructions[at].guarded() && !body_.instructions[at].has(Modifier::sat), {}};
    follow(product, at, false);
    return product;
  }

  /// Adds the sums that the result of `writer` reaches. Any other use makes the product unfusable.
  void follow(Product& product, std::uint32_t writer, bool is_negated) const {
    if (ssa_.writes(writer).size() != 1 || usage_.writes(writer).front().partial) {
      product.is_fusable = false;
      return;
    }
    const ValueId value = ssa_.writes(writer).front();
    if (value == no_value) return;
    for (const ValueUse& use : ssa_.uses(value)) {
      if (use.kind != ValueUse::Kind::read) {
        product.is_fusable = false;
        continue;
      }
      const Instruction& user = body_.instructions[use.user];
      const bool is_near = stretch_[use.user] == stretch_[product.instruction];
      const Op op = user.op();
      if (is_near && is_open_sum(user) && has_same_form(user, body_.instructions[product.instruction])) {
        add_use(product, use.user, value, is_negated);
      } else if (is_near && !user.guarded() && (op == Op::mov || op == Op::neg) &&
                 user.operands.size() == 2 &&
                 size_of(user.traits.type) == size_of(body_.instructions[product.instruction].traits.type)) {
        follow(product, use.user, is_negated != (op == Op::neg));
      } else {
        product.is_fusable = false;
      }
    }
  }

  static bool has_same_form(const Instruction& sum, const Instruction& product) {
    return sum.traits.type == product.traits.type && sum.has(Modifier::ftz) == product.has(Modifier::ftz);
  }

  void add_use(Product& product, std::uint32_t sum, ValueId value, bool is_negated) const {
    std::optional<std::uint32_t> product_operand;
    for (std::uint32_t operand = 1; operand <= 2; ++operand) {
      const Operand& read = body_.instructions[sum].operands[operand];
      if (read.kind != OperandKind::identifier || ssa_.read_of(sum, usage_.find(read.name, sum)) != value)
        continue;
      if (read.negated || product_operand) product.is_fusable = false;  // on both sides
      product_operand = operand;
    }
    if (!product_operand) return;
    const bool is_known = std::ranges::any_of(product.uses, [&](const Use& use) { return use.sum == sum; });
    if (is_known) product.is_fusable = false;  // on both sides, once through a move
    product.uses.push_back({sum, *product_operand, is_negated});
  }

  /// Considers products with one use first, then the others, in the order in which the sums read them.
  static ContractionStretch decide(const std::vector<Product>& products) {
    ContractionStretch stretch;
    std::map<std::uint32_t, Contraction> fused;                                      // by sum
    std::map<std::pair<std::uint32_t, std::uint32_t>, const Product*> with_several;  // by sum and operand
    for (const Product& product : products) {
      for (const Use& use : product.uses) {
        stretch.pairs.emplace_back(product.instruction, use.sum);
        if (product.is_fusable && product.uses.size() > 1) with_several[{use.sum, use.operand}] = &product;
      }
      if (!product.is_fusable || product.uses.size() != 1) continue;
      const Use& use = product.uses.front();
      const auto other = fused.find(use.sum);
      if (other == fused.end() || other->second.operand > use.operand) fuse(product, use, fused);
    }
    for (const auto& [sum_operand, product] : with_several) {
      const auto is_fused = [&](const Use& use) { return fused.contains(use.sum); };
      if (std::ranges::any_of(product->uses, is_fused)) continue;
      for (const Use& use : product->uses) fuse(*product, use, fused);
    }
    for (const auto& [sum, contraction] : fused) stretch.fused.push_back(contraction);
    return stretch;
  }

  static void fuse(const Product& product, const Use& use, std::map<std::uint32_t, Contraction>& fused) {
    fused[use.sum] = {use.sum, product.instruction, use.operand, use.is_negated};
  }

  const Body& body_;
  const ControlFlowGraph& graph_;
  const RegisterUsage& usage_;
  const SsaForm& ssa_;
  std::vector<std::uint32_t> stretch_;  // per instruction
};

}  // namespace

std::vector<ContractionStretch> find_contractions(FunctionAnalyses& analyses) {
  // Most code has no candidates and needs no analysis.
  if (std::ranges::none_of(analyses.function().body->instructions, is_open_product)) return {};
  return Finder(analyses).run();
}

}  // namespace lynxpp::ptx
