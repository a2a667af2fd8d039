"""Invoice approval: ``model``, ``steps``, ``workflow``; the input is ``invoices.json``."""
