"""The worker plane: tasks for consumers that cannot reach the bucket."""
