#include "ptx/ir/module.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace lynxpp::ptx {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns "v" for the component selector "v.x"; other names unchanged.
std::string_view without_component(std::string_view name) { return name.substr(0, name.find('.')); }

/// True if `declaration` declares register `name`.
bool declares(const RegisterDeclaration& declaration, std::string_view name) {
  if (declaration.count == 0) return declaration.name == name;
  if (!name.starts_with(declaration.name)) return false;
  const std::string_view digits = name.substr(declaration.name.size());
  if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return false;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc{} && end == digits.data() + digits.size() && number < declaration.count;
}

bool is_definition(const Function& function) { return !function.is_declaration(); }
bool is_definition(const Variable& variable) { return !variable.is_extern; }

std::string scoped_key(std::uint32_t scope, std::string_view name) {
  std::string key = std::to_string(scope);
  key += ' ';
  key += name;
  return key;
}

/// Calls `visit(scope)` from `scope` outwards until it returns a declaration.
template <typename Visit>
auto search_outwards(const std::vector<Scope>& scopes, std::uint32_t scope, Visit visit)
    -> decltype(visit(scope)) {
  while (true) {
    if (auto found = visit(scope)) return found;
    if (scope == 0 || scope >= scopes.size()) return nullptr;
    scope = scopes[scope].parent;
  }
}

}  // namespace

OperandList OperandPool::add(std::span<const Operand> operands) {
  constexpr std::size_t first_block = 32;
  constexpr std::size_t largest_block = 4096;
  if (operands.empty()) return {};
  if (block_size_ - used_ < operands.size()) {
    block_size_ = std::max(operands.size(), std::clamp(2 * block_size_, first_block, largest_block));
    blocks_.push_back(std::make_unique_for_overwrite<Operand[]>(block_size_));
    used_ = 0;
  }
  Operand* const place = blocks_.back().get() + used_;
  std::ranges::copy(operands, place);
  used_ += operands.size();
  return {place, operands.size()};
}

std::string_view OperandPool::add_opcode(std::string opcode, TextRange spelled) {
  const std::string& kept = opcodes_.emplace_back(std::move(opcode));
  spellings_.emplace(kept.data(), spelled);
  return kept;
}

const TextRange* OperandPool::spelling_of(std::string_view opcode) const {
  const auto found = spellings_.find(opcode.data());
  return found == spellings_.end() ? nullptr : &found->second;
}

TextRange Body::opcode_range(const Instruction& instruction, std::string_view source) const {
  if (const TextRange* spelled = operand_pool->spelling_of(instruction.opcode)) return *spelled;
  const auto begin = static_cast<std::uint32_t>(instruction.opcode.data() - source.data());
  return {begin, begin + static_cast<std::uint32_t>(instruction.opcode.size())};
}

std::uint64_t Variable::size_bytes() const { return std::uint64_t{size_of(type)} * vector * elements; }

std::vector<std::uint64_t> Function::parameter_offsets() const {
  std::vector<std::uint64_t> offsets;
  std::uint64_t end = 0;
  for (const Variable& parameter : parameters) {
    const std::uint64_t alignment = std::max(1U, parameter.alignment);
    offsets.push_back((end + alignment - 1) / alignment * alignment);
    end = offsets.back() + parameter.size_bytes();
  }
  offsets.push_back(end);
  return offsets;
}

const RegisterDeclaration* Body::find_register(std::string_view name, std::uint32_t scope) const {
  name = without_component(name);
  const bool indexed = indexed_registers_ == registers.size();
  // "%r12" may be declared as %r12, %r<N> or %r1<N>: try every split into a name and a number.
  const auto indexed_search = [&](std::uint32_t current) -> const RegisterDeclaration* {
    std::string key = scoped_key(current, name);
    if (const auto single = register_index_.find(key); single != register_index_.end()) {
      return &registers[single->second];
    }
    for (std::size_t digits = 1; digits < name.size() && is_digit(key.back()); ++digits) {
      key.pop_back();
      key.push_back('<');
      const auto range = register_index_.find(key);
      if (range != register_index_.end() && declares(registers[range->second], name)) {
        return &registers[range->second];
      }
      key.pop_back();
    }
    return nullptr;
  };
  const auto linear_search = [&](std::uint32_t current) -> const RegisterDeclaration* {
    for (const RegisterDeclaration& declaration : registers) {
      if (declaration.scope == current && declares(declaration, name)) return &declaration;
    }
    return nullptr;
  };
  return search_outwards(scopes, scope,
                         [&](std::uint32_t at) { return indexed ? indexed_search(at) : linear_search(at); });
}

const Variable* Body::find_variable(std::string_view name, std::uint32_t scope) const {
  const bool indexed = indexed_variables_ == variables.size();
  const auto indexed_search = [&](std::uint32_t current) -> const Variable* {
    const auto entry = variable_index_.find(scoped_key(current, name));
    return entry == variable_index_.end() ? nullptr : &variables[entry->second];
  };
  const auto linear_search = [&](std::uint32_t current) -> const Variable* {
    for (const Variable& variable : variables) {
      if (variable.scope == current && variable.name == name) return &variable;
    }
    return nullptr;
  };
  return search_outwards(scopes, scope,
                         [&](std::uint32_t at) { return indexed ? indexed_search(at) : linear_search(at); });
}

const TargetList* Body::find_branch_targets(std::string_view name, std::uint32_t scope) const {
  const bool indexed = indexed_targets_ == branch_targets.size();
  const auto indexed_search = [&](std::uint32_t current) -> const TargetList* {
    const auto entry = target_index_.find(scoped_key(current, name));
    return entry == target_index_.end() ? nullptr : &branch_targets[entry->second];
  };
  const auto linear_search = [&](std::uint32_t current) -> const TargetList* {
    const auto found = std::ranges::find_if(
        branch_targets, [&](const TargetList& list) { return list.scope == current && list.name == name; });
    return found == branch_targets.end() ? nullptr : &*found;
  };
  return search_outwards(scopes, scope,
                         [&](std::uint32_t at) { return indexed ? indexed_search(at) : linear_search(at); });
}

void Body::index_names() {
  register_index_.clear();
  variable_index_.clear();
  target_index_.clear();
  indexed_registers_ = indexed_variables_ = indexed_targets_ = 0;
  index_new_names();
}

void Body::index_new_names() {
  for (; indexed_registers_ < registers.size(); ++indexed_registers_) {
    const RegisterDeclaration& declared = registers[indexed_registers_];
    std::string key = scoped_key(declared.scope, declared.name);
    if (declared.count > 0) key.push_back('<');
    register_index_.try_emplace(std::move(key), static_cast<std::uint32_t>(indexed_registers_));
  }
  const auto index = [](const auto& all, NameIndex& names, std::size_t& indexed) {
    for (; indexed < all.size(); ++indexed)
      names.try_emplace(scoped_key(all[indexed].scope, all[indexed].name),
                        static_cast<std::uint32_t>(indexed));
  };
  index(variables, variable_index_, indexed_variables_);
  index(branch_targets, target_index_, indexed_targets_);
}

bool Body::operator==(const Body& other) const {
  return statements == other.statements && instructions == other.instructions && scopes == other.scopes &&
         registers == other.registers && variables == other.variables &&
         branch_targets == other.branch_targets && call_targets == other.call_targets;
}

template <typename Declared>
const Declared* Module::find_declared(const std::vector<Declared>& all, const NameIndex& index,
                                      std::size_t indexed, std::string_view name) const {
  if (indexed == all.size()) {
    const auto found = index.find(name);
    return found == index.end() ? nullptr : &all[found->second];
  }
  const Declared* declaration = nullptr;
  for (const Declared& each : all) {
    if (each.name != name) continue;
    if (is_definition(each)) return &each;
    if (declaration == nullptr) declaration = &each;
  }
  return declaration;
}

void Module::index_names() {
  const auto index = [](const auto& all, NameIndex& names) {
    names.clear();
    for (std::uint32_t at = 0; at < all.size(); ++at) {
      const auto [entry, fresh] = names.try_emplace(all[at].name, at);
      if (!fresh && is_definition(all[at]) && !is_definition(all[entry->second])) entry->second = at;
    }
    return all.size();
  };
  indexed_functions_ = index(functions, function_index_);
  indexed_variables_ = index(variables, variable_index_);
  alias_index_.clear();
  for (const Alias& alias : aliases) {
    const auto function = function_index_.find(alias.function);
    if (function != function_index_.end() && is_definition(functions[function->second]))
      alias_index_.try_emplace(std::string(alias.name), function->second);
  }
  indexed_aliases_ = aliases.size();
  has_function_like_register_ = find_function_like_register();
}

bool Module::has_function_like_register() const {
  if (indexed_functions_ == functions.size() && indexed_aliases_ == aliases.size())
    return has_function_like_register_;
  return find_function_like_register();
}

bool Module::find_function_like_register() const {
  const auto like_register = [](const auto& each) { return each.name.starts_with('%'); };
  return std::ranges::any_of(functions, like_register) || std::ranges::any_of(aliases, like_register);
}

const Function* Module::find_function(std::string_view name) const {
  const auto declared = [&](std::string_view wanted) {
    return find_declared(functions, function_index_, indexed_functions_, wanted);
  };
  const Function* const found = declared(name);
  if (found != nullptr && is_definition(*found)) return found;
  if (indexed_aliases_ == aliases.size() && indexed_functions_ == functions.size()) {
    const auto function = alias_index_.find(name);
    return function == alias_index_.end() ? found : &functions[function->second];
  }
  for (const Alias& alias : aliases) {
    if (alias.name != name) continue;
    const Function* const function = declared(alias.function);
    if (function != nullptr && is_definition(*function)) return function;
  }
  return found;
}

Function* Module::find_function(std::string_view name) {
  return const_cast<Function*>(std::as_const(*this).find_function(name));
}

const Variable* Module::find_variable(std::string_view name) const {
  return find_declared(variables, variable_index_, indexed_variables_, name);
}

const std::string* Module::find_file(std::uint32_t index) const {
  for (const SourceFile& file : files) {
    if (file.index == index) return &file.path;
  }
  return nullptr;
}

}  // namespace lynxpp::ptx
