/* The handler of reuse.cod for clang. */
typedef unsigned long u64;
enum { WAYS = 4 };
u64* loads;
u64* hits;
u64 recent[WAYS];
u64 memory_address(void);
unsigned instruction_id(void);

static int place_of(const u64* list, u64 line) {
  for (int way = 0; way < WAYS; ++way)
    if (list[way] == line) return way;
  return WAYS;
}

void handler(void) {
  u64 line = memory_address() / 128;
  int place = place_of(recent, line);
  __atomic_fetch_add(&loads[instruction_id()], 1, __ATOMIC_RELAXED);
  if (place < WAYS) __atomic_fetch_add(&hits[place], 1, __ATOMIC_RELAXED);
  for (int way = place < WAYS ? place : WAYS - 1; way > 0; --way) recent[way] = recent[way - 1];
  recent[0] = line;
}
