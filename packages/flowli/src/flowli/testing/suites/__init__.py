"""Suites that prove a contract: subclass one in a test file and give its fixture. One per port, one for object
stores.
"""
