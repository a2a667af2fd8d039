"""One piece of work from the envelope to the report, whatever dies in between."""
