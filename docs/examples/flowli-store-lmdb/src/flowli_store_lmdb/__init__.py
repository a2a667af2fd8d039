"""A store of flowli in one LMDB file: the five operations on which a bucket stands."""
