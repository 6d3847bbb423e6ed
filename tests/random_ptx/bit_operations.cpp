#include <algorithm>
#include <bit>

#include "operations.h"
#include "words.h"

namespace lynxpp::random_ptx {
namespace {

using Apply = std::function<void(const Word* in, Word* out, bool& carry)>;

/// The ISA restricts positions and lengths of fields to 0 to 255. For larger values, an H200 uses the lowest
/// 8 bits in
/// 32-bit instructions and the entire number in 64-bit ones.
template <typename U>
unsigned field_number(Word word) {
  const auto number = static_cast<unsigned>(word);
  return sizeof(U) == 8 ? std::min(number, 255u) : number & 255;
}

template <typename U>
U bit_field(U value, unsigned position, unsigned length, bool is_signed) {
  U result = 0;
  const unsigned last = std::min(position + length - 1, bits_of<U> - 1);
  const bool sign = is_signed && length != 0 && (value >> last & 1) != 0;
  for (unsigned i = 0; i < bits_of<U>; ++i) {
    const bool is_inside = i < length && position + i < bits_of<U>;
    if (is_inside ? (value >> (position + i) & 1) != 0 : sign) result |= U{1} << i;
  }
  return result;
}

template <typename U>
U with_bit_field(U field, U value, unsigned position, unsigned length) {
  for (unsigned i = 0; i < length && position + i < bits_of<U>; ++i) {
    value &= ~(U{1} << (position + i));
    value |= (field >> i & 1) << (position + i);
  }
  return value;
}

template <typename U>
void add_logic(std::vector<Operation>& all) {
  const char type = register_type<U>();
  const std::string bits = ".b" + std::to_string(bits_of<U>);
  const auto push = [&](const std::string& opcode, auto f) {
    all.push_back({opcode + bits + " $0, $1, $2;",
                   {type},
                   {type, type},
                   [f](const Word* in, Word* out, bool&) {
                     out[0] = static_cast<U>(f(from<U>(in[0]), from<U>(in[1])));
                   },
                   false,
                   false,
                   true});
  };
  push("and", [](U a, U b) { return a & b; });
  push("or", [](U a, U b) { return a | b; });
  push("xor", [](U a, U b) { return a ^ b; });
  all.push_back({"not" + bits + " $0, $1;", {type}, {type}, [](const Word* in, Word* out, bool&) {
                   out[0] = static_cast<U>(~from<U>(in[0]));
                 }});
  all.push_back({"cnot" + bits + " $0, $1;", {type}, {type}, [](const Word* in, Word* out, bool&) {
                   out[0] = from<U>(in[0]) == 0;
                 }});
  all.push_back({"mov" + bits + " $0, $1;",
                 {type},
                 {type},
                 [](const Word* in, Word* out, bool&) { out[0] = from<U>(in[0]); },
                 false,
                 false,
                 true});
  for (const unsigned mask : {~0u, 63u, 15u}) {
    all.push_back(
        {"{ .reg .b32 %z; and.b32 %z, $2, " + std::to_string(mask) + "; shl" + bits + " $0, $1, %z; }",
         {type},
         {type, 'r'},
         [mask](const Word* in, Word* out, bool&) {
           const std::uint32_t amount = static_cast<std::uint32_t>(in[1]) & mask;
           out[0] = amount < bits_of<U> ? static_cast<U>(from<U>(in[0]) << amount) : 0;
         }});
  }
}

template <typename U>
void add_counts(std::vector<Operation>& all) {
  const char type = register_type<U>();
  const std::string bits = ".b" + std::to_string(bits_of<U>);
  const auto push = [&](const std::string& text, char result, const std::string& sources, Apply apply) {
    all.push_back({text, {result}, sources, std::move(apply)});
  };
  const std::string one{type};
  push("popc" + bits + " $0, $1;", 'r', one,
       [](const Word* in, Word* out, bool&) { out[0] = static_cast<Word>(std::popcount(from<U>(in[0]))); });
  push("clz" + bits + " $0, $1;", 'r', one, [](const Word* in, Word* out, bool&) {
    out[0] = static_cast<Word>(std::countl_zero(from<U>(in[0])));
  });
  push("brev" + bits + " $0, $1;", type, one, [](const Word* in, Word* out, bool&) {
    out[0] = 0;
    for (unsigned i = 0; i < bits_of<U>; ++i) out[0] |= (in[0] >> i & 1) << (bits_of<U> - 1 - i);
  });
  for (const bool is_signed : {false, true}) {
    const std::string name = (is_signed ? "s" : "u") + std::to_string(bits_of<U>);
    push("bfe." + name + " $0, $1, $2, $3;", type, one + "rr", [is_signed](const Word* in, Word* out, bool&) {
      out[0] = bit_field<U>(from<U>(in[0]), field_number<U>(in[1]), field_number<U>(in[2]), is_signed);
    });
    push("{ .reg .b32 %y, %z; and.b32 %y, $2, 31; and.b32 %z, $3, 15; bfe." + name + " $0, $1, %y, %z; }",
         type, one + "rr", [is_signed](const Word* in, Word* out, bool&) {
           out[0] = bit_field<U>(from<U>(in[0]), in[1] & 31, in[2] & 15, is_signed);
         });
    for (const bool shifts : {false, true}) {
      push("bfind." + std::string(shifts ? "shiftamt." : "") + name + " $0, $1;", 'r', one,
           [=](const Word* in, Word* out, bool&) {
             U a = from<U>(in[0]);
             if (is_signed && (a >> (bits_of<U> - 1)) != 0) a = static_cast<U>(~a);
             const auto above = static_cast<std::uint32_t>(std::countl_zero(a));
             out[0] = a == 0 ? 0xffffffffu : shifts ? above : bits_of<U> - 1 - above;
           });
    }
  }
  push("bfi" + bits + " $0, $1, $2, $3, $4;", type, one + one + "rr", [](const Word* in, Word* out, bool&) {
    out[0] =
        with_bit_field<U>(from<U>(in[0]), from<U>(in[1]), field_number<U>(in[2]), field_number<U>(in[3]));
  });
  push("{ .reg .b32 %y, %z; and.b32 %y, $3, 31; and.b32 %z, $4, 15; bfi" + bits + " $0, $1, $2, %y, %z; }",
       type, one + one + "rr", [](const Word* in, Word* out, bool&) {
         out[0] = with_bit_field<U>(from<U>(in[0]), from<U>(in[1]), in[2] & 31, in[3] & 15);
       });
}

Word permuted(Word a, Word b, Word selector) {
  const Word bytes = (a & 0xffffffffu) | b << 32;
  Word result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const auto choice = static_cast<unsigned>(selector >> (4 * i) & 15);
    Word byte = bytes >> (choice % 8 * 8) & 255;
    if (choice >= 8) byte = (byte & 128) != 0 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}

void add_packing(std::vector<Operation>& all) {
  all.push_back({"mov.b32 $0, {$1, $2};", "r", "hh", [](const Word* in, Word* out, bool&) {
                   out[0] = (in[0] & 0xffff) | (in[1] & 0xffff) << 16;
                 }});
  all.push_back({"mov.b64 $0, {$1, $2};", "d", "rr",
                 [](const Word* in, Word* out, bool&) { out[0] = (in[0] & 0xffffffffu) | in[1] << 32; }});
  all.push_back({"mov.b64 $0, {$1, $2, $3, $4};", "d", "hhhh", [](const Word* in, Word* out, bool&) {
                   out[0] = 0;
                   for (unsigned i = 0; i < 4; ++i) out[0] |= (in[i] & 0xffff) << (16 * i);
                 }});
  all.push_back({"mov.b32 {$0, $1}, $2;", "hh", "r", [](const Word* in, Word* out, bool&) {
                   out[0] = in[0] & 0xffff;
                   out[1] = in[0] >> 16 & 0xffff;
                 }});
  all.push_back({"mov.b64 {$0, $1}, $2;", "rr", "d", [](const Word* in, Word* out, bool&) {
                   out[0] = in[0] & 0xffffffffu;
                   out[1] = in[0] >> 32;
                 }});
  all.push_back(
      {"mov.b64 {_, $0}, $1;", "r", "d", [](const Word* in, Word* out, bool&) { out[0] = in[0] >> 32; }});
  all.push_back({"mov.b64 {$0, $1, $2, $3}, $4;", "hhhh", "d", [](const Word* in, Word* out, bool&) {
                   for (unsigned i = 0; i < 4; ++i) out[i] = in[0] >> (16 * i) & 0xffff;
                 }});
}

void add_of_words(std::vector<Operation>& all) {
  const auto push = [&](const std::string& text, const std::string& sources, Apply apply,
                        bool immediate = false) {
    all.push_back({text, "r", sources, std::move(apply), false, false, immediate});
  };
  push(
      "prmt.b32 $0, $1, $2, $3;", "rrr",
      [](const Word* in, Word* out, bool&) { out[0] = permuted(in[0], in[1], in[2]); }, true);
  for (const bool left : {false, true}) {
    for (const bool wraps : {false, true}) {
      push(
          "shf." + std::string(left ? "l." : "r.") + (wraps ? "wrap" : "clamp") + ".b32 $0, $1, $2, $3;",
          "rrr",
          [=](const Word* in, Word* out, bool&) {
            const Word joined = (in[0] & 0xffffffffu) | in[1] << 32;
            const Word c = in[2] & 0xffffffffu;
            const Word amount = wraps ? c & 31 : std::min<Word>(c, 32);
            out[0] = (left ? (joined << amount) >> 32 : joined >> amount) & 0xffffffffu;
          },
          true);
    }
  }
  for (const unsigned table : {0x96u, 0xe8u, 0x1bu, 0x80u, 0xfeu}) {
    push("lop3.b32 $0, $1, $2, $3, " + std::to_string(table) + ";", "rrr",
         [table](const Word* in, Word* out, bool&) {
           out[0] = 0;
           for (unsigned i = 0; i < 32; ++i) {
             const auto row = (in[0] >> i & 1) << 2 | (in[1] >> i & 1) << 1 | (in[2] >> i & 1);
             out[0] |= Word{table >> row & 1} << i;
           }
         });
  }
  for (const bool is_signed : {false, true}) {
    const std::string type = is_signed ? ".s32" : ".u32";
    push("dp4a" + type + type + " $0, $1, $2, $3;", "rrr", [is_signed](const Word* in, Word* out, bool&) {
      std::int64_t sum = static_cast<std::int64_t>(in[2]);
      for (unsigned i = 0; i < 32; i += 8) {
        const Word a = in[0] >> i & 255;
        const Word b = in[1] >> i & 255;
        sum += is_signed ? static_cast<std::int8_t>(a) * static_cast<std::int8_t>(b)
                         : static_cast<std::int64_t>(a * b);
      }
      out[0] = static_cast<std::uint32_t>(sum);
    });
    for (const bool high : {false, true}) {
      push("mul24." + std::string(high ? "hi" : "lo") + type + " $0, $1, $2;", "rr",
           [=](const Word* in, Word* out, bool&) {
             const auto low24 = [&](Word word) {
               const auto shifted = static_cast<std::int32_t>(static_cast<std::uint32_t>(word) << 8);
               return is_signed ? std::int64_t{shifted >> 8} : static_cast<std::int64_t>(word & 0xffffff);
             };
             const std::int64_t product = low24(in[0]) * low24(in[1]);
             out[0] = static_cast<std::uint32_t>(high ? product >> 16 : product);
           });
    }
    const bool subtracts = is_signed;
    push((subtracts ? "sub" : "add") + std::string(".sat.s32 $0, $1, $2;"), "rr",
         [subtracts](const Word* in, Word* out, bool&) {
           const std::int64_t a = from<std::int32_t>(in[0]);
           const std::int64_t b = from<std::int32_t>(in[1]);
           const std::int64_t exact = subtracts ? a - b : a + b;
           out[0] = to(static_cast<std::int32_t>(std::clamp<std::int64_t>(exact, INT32_MIN, INT32_MAX)));
         });
  }
  push("slct.u32.s32 $0, $1, $2, $3;", "rrr",
       [](const Word* in, Word* out, bool&) { out[0] = from<std::int32_t>(in[2]) >= 0 ? in[0] : in[1]; });
}

}  // namespace

std::vector<Operation> bit_operations() {
  std::vector<Operation> all;
  add_logic<std::uint16_t>(all);
  add_logic<std::uint32_t>(all);
  add_logic<std::uint64_t>(all);
  add_counts<std::uint32_t>(all);
  add_counts<std::uint64_t>(all);
  add_packing(all);
  add_of_words(all);
  return all;
}

std::vector<Operation> predicate_operations() {
  std::vector<Operation> all;
  const auto push = [&](const std::string& text, const std::string& sources, Apply apply) {
    all.push_back({text, "p", sources, std::move(apply)});
  };
  push("and.pred $0, $1, $2;", "pp", [](const Word* in, Word* out, bool&) { out[0] = in[0] & in[1]; });
  push("or.pred $0, $1, $2;", "pp", [](const Word* in, Word* out, bool&) { out[0] = in[0] | in[1]; });
  push("xor.pred $0, $1, $2;", "pp", [](const Word* in, Word* out, bool&) { out[0] = in[0] ^ in[1]; });
  push("not.pred $0, $1;", "p", [](const Word* in, Word* out, bool&) { out[0] = in[0] ^ 1; });
  push("mov.pred $0, $1;", "p", [](const Word* in, Word* out, bool&) { out[0] = in[0]; });
  return all;
}

}  // namespace lynxpp::random_ptx
