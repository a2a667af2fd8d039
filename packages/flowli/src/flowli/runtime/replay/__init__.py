"""The private deterministic loop: ordinary asyncio code runs in it live and replays exactly.

``loop`` is the event loop, ``session`` drives one execution through its journal and beyond it, ``calls`` are the
frames that code can await, ``difference`` words what a replay found to be different. Nothing here touches a bucket.
"""
