"""Work for coding agents: ``workflow`` plans, delegates, gates, asks for a review, and tries again."""
