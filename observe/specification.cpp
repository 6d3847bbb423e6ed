#include "observe/specification.h"

#include "observe/embedded.h"

namespace lynxpp::observe {
namespace {

void replace(std::string& text, const std::string& old, const std::string& by) {
  const std::size_t at = text.find(old);
  if (at != std::string::npos) text.replace(at, old.size(), by);
}

void set_constant(std::string& text, const std::string& name, std::uint64_t value) {
  const std::string declared = "const unsigned long " + name + " = ";
  const std::size_t at = text.find(declared);
  if (at == std::string::npos) return;
  const std::size_t begin = at + declared.size();
  text.replace(begin, text.find(';', begin) - begin, std::to_string(value));
}

}  // namespace

std::string specification_text(const Choice& choice) {
  std::string text;
  for (const EmbeddedText& each : embedded_specification()) {
    if (each.name == "memory_accesses") text = each.source;
  }
  set_constant(text, "chosen_blocks", choice.blocks);
  set_constant(text, "first_blocks", choice.first_blocks);
  set_constant(text, "seed", choice.seed);
  replace(text, "accesses[262144]", "accesses[" + std::to_string(choice.accesses) + "]");
  replace(text, "addresses[4194304]", "addresses[" + std::to_string(choice.addresses) + "]");
  return text;
}

}  // namespace lynxpp::observe
