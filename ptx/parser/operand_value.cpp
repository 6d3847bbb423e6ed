#include "ptx/parser/operand_value.h"

#include <algorithm>

#include "ptx/parser/literal.h"

namespace lynxpp::ptx {
namespace {

/// Without the leading `%`; excludes %envreg0 … and %pm0 ….
constexpr std::string_view special_registers[] = {"tid",
                                                  "ntid",
                                                  "laneid",
                                                  "warpid",
                                                  "nwarpid",
                                                  "ctaid",
                                                  "nctaid",
                                                  "smid",
                                                  "nsmid",
                                                  "gridid",
                                                  "clusterid",
                                                  "nclusterid",
                                                  "cluster_ctaid",
                                                  "cluster_nctaid",
                                                  "cluster_ctarank",
                                                  "cluster_nctarank",
                                                  "is_explicit_cluster",
                                                  "lanemask_eq",
                                                  "lanemask_le",
                                                  "lanemask_lt",
                                                  "lanemask_ge",
                                                  "lanemask_gt",
                                                  "clock",
                                                  "clock_hi",
                                                  "clock64",
                                                  "globaltimer",
                                                  "globaltimer_lo",
                                                  "globaltimer_hi",
                                                  "reserved_smem_offset_begin",
                                                  "reserved_smem_offset_end",
                                                  "reserved_smem_offset_cap",
                                                  "reserved_smem_offset_0",
                                                  "reserved_smem_offset_1",
                                                  "total_smem_size",
                                                  "aggr_smem_size",
                                                  "dynamic_smem_size",
                                                  "current_graph_exec"};

/// Length of the shortest special register name, without the `%`; most registers of compiled code have
/// shorter names.
constexpr std::size_t shortest_name = 3;

bool is_numbered(std::string_view name) {
  for (const std::string_view family : {"envreg", "pm"}) {
    if (!name.starts_with(family)) continue;
    std::string_view number = name.substr(family.size());
    if (family == "pm" && number.ends_with("_64")) number.remove_suffix(3);
    const bool digits = std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
    if (!number.empty() && number.size() <= 2 && digits) return true;
  }
  return false;
}

bool is_special_register(std::string_view name) {
  if (name.size() <= shortest_name || name[0] != '%') return false;
  // %r12, %rd3, %f4, %fd5 and similar: one or two letters and a number. The only such special registers are
  // %pm0 ….
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (is_digit(name[2]) || (is_digit(name[3]) && !name.starts_with("%pm"))) return false;
  name = name.substr(1, name.find('.') - 1);
  return std::ranges::find(special_registers, name) != std::end(special_registers) || is_numbered(name);
}

}  // namespace

std::string_view special_register_component(std::string_view name, std::string_view component) {
  static constexpr std::string_view names[] = {"%tid.x",
                                               "%tid.y",
                                               "%tid.z",
                                               "%ntid.x",
                                               "%ntid.y",
                                               "%ntid.z",
                                               "%ctaid.x",
                                               "%ctaid.y",
                                               "%ctaid.z",
                                               "%nctaid.x",
                                               "%nctaid.y",
                                               "%nctaid.z",
                                               "%clusterid.x",
                                               "%clusterid.y",
                                               "%clusterid.z",
                                               "%nclusterid.x",
                                               "%nclusterid.y",
                                               "%nclusterid.z",
                                               "%cluster_ctaid.x",
                                               "%cluster_ctaid.y",
                                               "%cluster_ctaid.z",
                                               "%cluster_nctaid.x",
                                               "%cluster_nctaid.y",
                                               "%cluster_nctaid.z"};
  for (const std::string_view joined : names) {
    if (joined.size() == name.size() + component.size() && joined.starts_with(name) &&
        joined.ends_with(component))
      return joined;
  }
  return {};
}

void set_name(Operand& operand, std::string_view name) {
  if (name == "WARP_SZ") {
    operand.kind = OperandKind::integer;
    operand.integer = 32;
    return;
  }
  operand.name = name;
  if (name == "_") {
    operand.kind = OperandKind::sink;
  } else if (is_special_register(name)) {
    operand.kind = OperandKind::special_register;
  }
}

bool set_integer(Operand& operand, std::string_view literal) {
  const auto value = parse_integer_literal(literal);
  if (!value) return false;
  operand.kind = OperandKind::integer;
  operand.integer = static_cast<std::int64_t>(*value);
  return true;
}

bool set_float(Operand& operand, std::string_view text) {
  const auto literal = parse_float_literal(text);
  if (!literal) return false;
  operand.kind = OperandKind::floating;
  operand.bits = literal->bits;
  operand.is_single = literal->is_single;
  return true;
}

bool apply_sign(Operand& operand, char sign) {
  if (sign == '\0' || sign == '+') return true;
  if (operand.kind == OperandKind::integer) {
    if (sign == '-') operand.integer = wrapping_negative(operand.integer);
    if (sign == '~') operand.integer = ~operand.integer;
    if (sign == '!') operand.integer = operand.integer == 0 ? 1 : 0;
    return true;
  }
  if (sign == '~' || (operand.kind == OperandKind::floating && sign == '!')) return false;
  if (operand.kind == OperandKind::floating) {
    operand.bits ^= operand.is_single ? 0x80000000ULL : 0x8000000000000000ULL;
  } else {
    operand.negated = true;
  }
  return true;
}

std::int64_t wrapping_sum(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) + static_cast<std::uint64_t>(right));
}

std::int64_t wrapping_product(std::int64_t left, std::int64_t right) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(left) * static_cast<std::uint64_t>(right));
}

std::int64_t wrapping_negative(std::int64_t value) { return wrapping_sum(~value, 1); }

}  // namespace lynxpp::ptx
