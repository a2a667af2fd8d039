"""The routes, by plane: catalog, control, worker."""
