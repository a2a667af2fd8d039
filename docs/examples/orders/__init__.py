"""Order fulfilment: ``model``, ``steps``, ``workflow``; the input is ``orders.csv``."""
