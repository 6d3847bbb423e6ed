/* Stands for liblynxpp.so where only the environment of the started program is looked at. */
int lynxpp_cli_test_preload_is_loaded = 1;
