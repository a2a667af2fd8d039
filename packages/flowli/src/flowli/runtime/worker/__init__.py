"""The worker: ``worker`` takes tasks, ``executions`` runs what they are for, ``renewal`` keeps the leases."""
