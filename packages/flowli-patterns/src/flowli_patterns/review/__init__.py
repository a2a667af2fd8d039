"""``review``: a workflow waits for the decision of people; exactly one decision stands.

``model`` holds the values, ``forms`` what a decision has to fill in, ``state`` what the events of a review make of it,
``ledger`` how an event gets its place among them, ``call`` and ``waiting`` the workflow's side, ``verbs`` the engine's
side (``engine.reviews``), ``inbox`` the reviews of a bucket by its control log.

The events of a review stand in numbered places, each taken by a claim: ``review:{eid}:{name}:{place}``. So all who
look see the same events in the same order, and whoever adds one learns what came before it. What an event means
depends only on the events before it: one that is not allowed where it stands is void for everybody.
"""
