"""What goes over the wire: one model for each thing, made from the engine's own values."""
