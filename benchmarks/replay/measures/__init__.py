"""What a replay measures: one pure function on arrays for each subject."""
