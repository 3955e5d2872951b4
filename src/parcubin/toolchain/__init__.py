"""Finding NVIDIA's compilers, knowing their versions and faults, and reading what they print."""
