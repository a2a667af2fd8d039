"""The service from Python: a client with and one without asyncio, and a consumer for the worker plane."""
