"""What every program needs and none is about: compiling, random numbers, files, processes."""
