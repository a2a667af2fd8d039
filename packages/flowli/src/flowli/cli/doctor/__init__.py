"""``flowli doctor``: examines an installation and says plainly whether it can work.

A check is a function in ``checks.CHECKS``: it is given a ``Patient`` and returns findings. Whatever else there is to
look at is one more function in that list.
"""
