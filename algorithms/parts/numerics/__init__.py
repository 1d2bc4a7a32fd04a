"""Linear algebra, designs and choices that would be the same without Bayesian optimization."""
