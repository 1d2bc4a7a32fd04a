"""What decides a trace and what keeps it: named random streams, and the record of one run."""
