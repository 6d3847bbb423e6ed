// Objects of the engine live as long as the process.
//
// A kernel may still run when the program ends: exit() destroys static objects, those made last first, before
// it asks the engine to finish, and threads that compile or run the kernel use the engine's tables meanwhile.
// So nobody is told of their destructors: the engine's own calls of this function, and those of the libraries
// linked into it, come here. What has to be done at the end, finish() does (engine_entry.cpp). The engine is
// never unloaded.
extern "C" [[gnu::visibility("hidden")]] int __cxa_atexit(void (* /*destroy*/)(void*), void* /*object*/,
                                                          void* /*library*/) noexcept {
  return 0;
}
