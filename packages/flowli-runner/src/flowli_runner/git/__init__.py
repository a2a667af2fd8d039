"""Git under the runner: a tree and a branch per attempt, what changed in it, and a ref that keeps every byte of it."""
