// Which handlers do nothing but count the words of memory that instructions access (countWords), and what
// that function and emitWords() take.
#pragma once

#include "cod/sema/program.h"

namespace lynxpp::cod {

/// Fills in Handler::counted_words: of handlers of ON_INSTRUCTION without sampling whose statements all are
/// countWords(array), under no condition. Precondition: analysed without error.
void find_counted_words(Program& program);

}  // namespace lynxpp::cod
