#include "device/cpu/simt/execute/memory/module_storage.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "device/cpu/simt/compile/frame_layout.h"
#include "ptx/parser/parser.h"

namespace lynxpp::device::cpu {
namespace {

/// Alignment of cudaMalloc; no variable needs a larger one.
constexpr std::uint64_t arena_alignment = 256;

bool is_placed(const ptx::Variable& variable, ptx::StateSpace space) {
  return variable.space == space && variable.type != ptx::DataType::opaque &&
         !(variable.is_extern && !variable.has_initializer);
}

/// Gap between variables, so that an access slightly past the end of one does not hit the next.
constexpr std::uint64_t gap = 64;

/// Larger variables count as this size, so that no sum overflows; an allocation of this size always fails.
constexpr std::uint64_t beyond_any_memory = std::uint64_t{1} << 48;

/// Computes the offsets of the variables of one space and returns their total size. The order is that of
/// ptxas 13.0, which has a section for variables with a value: programs use the first array of a plain type
/// as a tensor, which needs a multiple of 16.
std::uint64_t place(const ptx::Module& module, ptx::StateSpace space,
                    std::unordered_map<std::string, std::uint64_t>& offsets) {
  std::vector<const ptx::Variable*> order;
  for (const ptx::Variable& variable : module.variables) {
    if (is_placed(variable, space)) order.push_back(&variable);
  }
  const auto is_in_second = [space](const ptx::Variable* variable) {
    return space == ptx::StateSpace::global && variable->has_initializer;
  };
  std::ranges::stable_sort(order, [&](const ptx::Variable* a, const ptx::Variable* b) {
    if (is_in_second(a) != is_in_second(b)) return is_in_second(b);
    return a->alignment != b->alignment ? a->alignment > b->alignment : a->size_bytes() < b->size_bytes();
  });
  std::uint64_t end = 0;
  bool was_in_second = false;
  for (const ptx::Variable* const variable : order) {
    if (!std::exchange(was_in_second, is_in_second(variable)) && is_in_second(variable))
      end = align_up(end, arena_alignment);
    end = align_up(end, std::min<std::uint64_t>(variable->alignment, arena_alignment));
    offsets[variable->name] = end;
    end += std::min(variable->size_bytes(), beyond_any_memory) + gap;
  }
  return end;
}

}  // namespace

void ModuleStorage::Free::operator()(std::byte* memory) const { std::free(memory); }

Result<ModuleStorage> ModuleStorage::create(const ptx::Module& module, const std::string& name,
                                            const SharedVariables& shared) {
  ModuleStorage storage;
  for (const ptx::StateSpace space : {ptx::StateSpace::global, ptx::StateSpace::constant}) {
    std::unordered_map<std::string, std::uint64_t> offsets;
    const std::uint64_t bytes =
        align_up(std::max<std::uint64_t>(place(module, space, offsets), 1), arena_alignment);
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(arena_alignment, bytes));
    if (memory == nullptr)
      return failure(name + ": no memory for " + std::to_string(bytes) + " bytes of variables");
    std::memset(memory, 0, bytes);
    for (const ptx::Variable& variable : module.variables) {
      if (!is_placed(variable, space)) continue;
      storage.symbols_.variables[variable.name] = {memory + offsets[variable.name], variable.size_bytes()};
    }
    if (space == ptx::StateSpace::constant) {
      storage.constants_.reset(memory);
      storage.symbols_.constants = {memory, bytes};
    } else {
      storage.globals_.reset(memory);
    }
  }
  for (const auto& [variable, place] : shared) {
    const auto found = storage.symbols_.variables.find(variable);
    if (found != storage.symbols_.variables.end() && found->second.bytes == place.bytes)
      found->second.address = static_cast<std::byte*>(place.address);
  }
  for (const ptx::Variable& variable : module.variables) {
    if (shared.contains(variable.name)) continue;
    if (!variable.has_initializer || !storage.symbols_.variables.contains(variable.name)) continue;
    if (Status initialized = storage.initialize(module, variable); !initialized) return initialized.error();
  }
  return storage;
}

Status ModuleStorage::initialize(const ptx::Module& module, const ptx::Variable& variable) {
  const Result<ptx::InitialValue> value = ptx::parse_initial_value(module, variable);
  if (!value) return value.error();
  const ModuleSymbols::Storage target = symbols_.variables.at(variable.name);
  std::memcpy(target.address, value->bytes.data(), std::min<std::size_t>(value->bytes.size(), target.bytes));
  for (const ptx::Relocation& relocation : value->relocations) {
    std::uint64_t address = 0;
    const auto symbol = symbols_.variables.find(relocation.symbol);
    if (symbol != symbols_.variables.end()) {
      address = reinterpret_cast<std::uintptr_t>(symbol->second.address);
    } else if (const ptx::Function* function = module.find_function(relocation.symbol)) {
      address = ModuleSymbols::function_token(static_cast<std::uint32_t>(function - module.functions.data()));
    } else {
      return failure("the initial value of '" + variable.name + "' names '" + relocation.symbol +
                     "', which has no address on the cpu device");
    }
    address = (address + static_cast<std::uint64_t>(relocation.addend)) >> relocation.shift;
    const std::uint64_t bytes = std::min<std::uint64_t>(relocation.bytes, sizeof(address));
    if (relocation.offset > target.bytes || target.bytes - relocation.offset < bytes) continue;
    std::memcpy(target.address + relocation.offset, &address, bytes);
  }
  return success();
}

}  // namespace lynxpp::device::cpu
