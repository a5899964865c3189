"""Match logs from CSV files: ``reader.read_log`` gives the games and says what was wrong."""
