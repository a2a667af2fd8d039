"""One numbered procedure a file. Each docstring says what a crash after each step leaves behind and who completes
it.
"""
