"""From numbers to what a paper shows: figures, ranks, tables, pictures."""
