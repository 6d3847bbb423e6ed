// Keeps the engine's objects alive as long as the process.
//
// A kernel may still run when the program ends: exit() destroys static objects, most recent first, before it
// calls the engine's finish(), while threads that compile or run the kernel use the engine's tables. This
// function therefore replaces the C library's registration of destructors for the engine and the libraries
// linked into it, and registers none. All work at the end is done by finish() (engine_entry.cpp). The engine
// is never unloaded.
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (* /*destroy*/)(void*), void* /*object*/,
                                                          void* /*library*/) noexcept {
  return 0;
}
