"""What plays in the queue."""
