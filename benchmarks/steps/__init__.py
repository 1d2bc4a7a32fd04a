"""The works of `make bench`, one module a family; each imports what it times, and peers last."""
