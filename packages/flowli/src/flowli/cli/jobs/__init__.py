"""Commands that run until they are stopped, or once: worker, sweeper, retention."""
