"""The commands of the patterns."""
