"""What happens, as it happens: server-sent events."""
