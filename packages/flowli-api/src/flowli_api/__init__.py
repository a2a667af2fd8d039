"""HTTP service for flowli workflows."""
