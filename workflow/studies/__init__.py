"""Theory checks that are no ask/tell run: each `run(seed, problem, ...)` returns equally long
numeric columns.
"""
