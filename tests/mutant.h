// The switch of scripts/mutate: selects one of the mutants that were compiled in.
#pragma once

#include <cstdlib>

/// True in a process whose environment has MUTANT=number. Read once, since programs change their environment.
inline bool lynxpp_mutant(int number) {
  static const int chosen = [] {
    const char* const text = std::getenv("MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
  }();
  return chosen == number;
}
