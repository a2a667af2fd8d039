"""Programs that outlive the runner: a supervisor beside each, a handle that names it, and an end for all it started."""
