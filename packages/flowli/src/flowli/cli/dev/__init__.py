"""``flowli dev``: a worker and a sweeper in one process, and a live view of what happens in the bucket."""
