"""Commands that change something: start, signal, and the verbs for one execution."""
