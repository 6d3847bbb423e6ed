// Holds the headers that CMakeLists.txt has precompiled for the tests.
int main() {}
