// The PTX of what the first block of the grid counts for all (alike.h).
//
// Other blocks jump over it. Where there is much of it, its numbers lie in local memory, so that no register
// lives through the kernel for them.
#include "ptx/passes/counting/emit/text.h"

namespace lynxpp::ptx {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

constexpr std::string_view local_words = "__lynxpp_alike";

std::string at_word(std::uint32_t word) { return "[%lynxpp_alike_words+" + number(4 * word) + "]"; }

}  // namespace

void CountText::keep_local(const std::set<std::uint32_t>& registers) {
  for (const std::uint32_t reg : registers)
    local_.try_emplace(reg, static_cast<std::uint32_t>(local_.size()));
}

bool CountText::is_local(const Counter& counter) const {
  return !counter.is_bit && !counter.is_maximum() && local_.contains(counter.reg);
}

std::string CountText::declare_elsewhere() const {
  std::string text = "\n\t.reg .pred %lynxpp_elsewhere;\n";
  if (!local_.empty()) {
    text += "\t.local .align 4 .b8 " + std::string(local_words) + "[" + number(4 * local_.size()) +
            "];\n\t.reg .b32 %lynxpp_alike_count;\n\t.reg .b64 %lynxpp_alike_words, %lynxpp_alike_base;\n";
  }
  return text;
}

/// ptxas would keep local memory in registers, did it know where in it the words are: the highest bits of an
/// address are 0.
std::string CountText::find_local_words() const {
  return "\tld.param.b64 %lynxpp_alike_base, [" + std::string(probe_parameter) + "+" +
         number(8 * std::uint64_t{target_.word}) +
         "];\n\tshr.u64 %lynxpp_alike_base, %lynxpp_alike_base, 60;\n\tmov.u64 %lynxpp_alike_words, " +
         std::string(local_words) +
         ";\n\tadd.u64 %lynxpp_alike_words, %lynxpp_alike_words, %lynxpp_alike_base;\n";
}

std::string CountText::find_elsewhere(GridDimensions first_in) {
  std::string text = "\t{\n\t.reg .b32 %lynxpp_other, %lynxpp_part;\n" + index_of_block(first_in) +
                     "\tsetp.ne.u32 %lynxpp_elsewhere, %lynxpp_other, 0;\n\t}\n";
  if (local_.empty()) return text;
  std::string zeros = find_local_words();
  for (const auto& [reg, word] : local_) zeros += "\tst.local.b32 " + at_word(word) + ", 0;\n";
  return text + jump_elsewhere(zeros);
}

std::string CountText::unless_elsewhere(const std::string& text) {
  const bool has_local = text.find("%lynxpp_alike_words") != std::string::npos;
  return jump_elsewhere(has_local ? find_local_words() + text : text);
}

/// The way back is never taken: where the predicate holds, nobody is here. Without it ptxas makes conditional
/// instructions of the text, which all blocks would issue.
std::string CountText::jump_elsewhere(const std::string& text) {
  const std::string again = label();
  const std::string done = label();
  return "\t@%lynxpp_elsewhere bra.uni " + done + ";\n" + again + ":\n" + text +
         "\t@%lynxpp_elsewhere bra.uni " + again + ";\n" + done + ":\n";
}

std::string CountText::raise_local(const Counter& counter, const std::string& when) const {
  const std::string word = at_word(local_.at(counter.reg));
  return when + "ld.local.b32 %lynxpp_alike_count, " + word + ";\n" + when +
         "add.u32 %lynxpp_alike_count, %lynxpp_alike_count, 1;\n" + when + "st.local.b32 " + word +
         ", %lynxpp_alike_count;\n";
}

std::string CountText::take_local(const std::vector<const Counter*>& counters) const {
  std::set<std::uint32_t> registers;
  for (const Counter* counter : counters) {
    if (is_local(*counter)) registers.insert(counter->reg);
  }
  if (registers.empty()) return {};
  std::string text = find_local_words();
  for (const std::uint32_t reg : registers)
    text += "\tld.local.b32 " + name(reg) + ", " + at_word(local_.at(reg)) + ";\n";
  return text;
}

}  // namespace lynxpp::ptx
