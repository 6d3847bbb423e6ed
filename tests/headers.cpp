// The target whose headers CMakeLists.txt precompiles for the tests.
int main() {}
