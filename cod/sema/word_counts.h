// Finds handlers that only count accesses to memory words (countWords), and checks the arguments of that
// function and emitWords().
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Fills Handler::counted_words for ON_INSTRUCTION handlers without sampling that consist only of
/// unconditional countWords(array) statements. Precondition: analysed without errors.
void find_counted_words(Program& program);

}  // namespace lynxpp::cod
