/* Replaces liblynxpp.so in tests that check only the environment of the started program. */
int lynxpp_cli_test_preload_is_loaded = 1;
