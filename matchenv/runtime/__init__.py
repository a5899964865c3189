"""Infrastructure of all programs: compilation, random numbers, files, processes."""
