"""Settings in groups, of which tests change single ones by name, optimizers that have them,
and generators.
"""

import numpy as np

import algorithms
from algorithms.api import Box, Observation


def rng(seed=0):
    return np.random.default_rng(seed)


def changed(settings, **changes):
    """Settings, whose groups are mappings, with some values changed or added.

    A name is that of a setting or a group, a field that one group alone has, or group_field.
    """
    found = {name: dict(v) if isinstance(v, dict) else v for name, v in settings.items()}
    groups = {name: group for name, group in found.items() if isinstance(group, dict)}
    for name, value in changes.items():
        places = [
            (group, field)
            for prefix, group in groups.items()
            for field in group
            if name in (field, f"{prefix}_{field}")
        ]
        if name in settings or not places:
            found[name] = dict(value) if isinstance(value, dict) else value
            groups.update({name: found[name]} if isinstance(value, dict) else {})
        else:
            ((group, field),) = places  # more than one group has it: write group_field
            group[field] = value
    return found


def builder(name, settings, d=2):
    """new(d, seed, **changes) -> the optimizer `module.Class` on a box, single settings changed."""

    def new(d=d, seed=0, **changes):
        parameters = changed(settings, **changes)
        return algorithms.build(name, Box(d), rng(seed), parameters)

    return new


def played(optimizer, steps, evaluate):
    """The optimizer after steps of one query each, told what `evaluate` shows: values suffice."""
    for _ in range(steps):
        query = optimizer.ask(1, optimizer.x[:0])
        shown = evaluate(query)
        optimizer.tell(query, shown if isinstance(shown, Observation) else Observation.of(shown))
    return optimizer
