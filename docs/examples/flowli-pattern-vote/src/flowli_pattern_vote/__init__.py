"""A vote with a quorum: a pattern on the Context API of flowli."""
