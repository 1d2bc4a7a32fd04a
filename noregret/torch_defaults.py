"""PyTorch as a method expects it, whatever a user's program has made of it.

A method takes gradients, and has constants in single precision on the CPU. Inside a program's
`torch.no_grad()` or `inference_mode()`, with another default type or on another default device it
would fail, or ask for other points. Seed, settings and history alone decide the next point.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def torch_defaults() -> Iterator[None]:
    """A block, or as a decorator a function, in which PyTorch is as it is when it is imported.

    Does nothing while PyTorch is not loaded: then nobody has changed it.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    dtype = torch.get_default_dtype()
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.enable_grad())
        if torch.get_default_device().type != "cpu":  # a device in force slows every call
            stack.enter_context(torch.device("cpu"))
        stack.callback(torch.set_default_dtype, dtype)
        torch.set_default_dtype(torch.float32)
        yield
