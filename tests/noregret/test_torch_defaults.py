"""A program's PyTorch does not reach a method, and a method's does not reach the program."""

import contextlib

import numpy as np
import pytest
import torch
from numpy.testing import assert_array_equal

from noregret.torch_defaults import torch_defaults
from tests.noregret.own import ON_BOXES, begun, each, shown

LEARN = [name for name in ON_BOXES if name not in ("random", "saasbo", "ngopt", "cma-es")]


def asked(name, around):
    """Two points of a method that begins, learns and is asked within a block."""
    with around():
        optimizer = begun(name)
        x = np.random.default_rng(1).random((5, 2)) * 8 + [-5, 0]
        shows = [shown(name, row) for row in x]
        limits = [g for _, g in shows] if optimizer.settings.constraints else None
        optimizer.tell(x, [y for y, _ in shows], limits)
        return optimizer.ask(2)


@contextlib.contextmanager
def double_without_gradients_on_meta():
    torch.set_default_dtype(torch.float64)
    with torch.no_grad(), torch.device("meta"):
        yield
    torch.set_default_dtype(torch.float32)


@each(LEARN)
def test_no_method_sees_the_state_of_a_program(name):
    expected = asked(name, contextlib.nullcontext)
    for around in (torch.inference_mode, double_without_gradients_on_meta):
        assert_array_equal(asked(name, around), expected)


def test_the_state_of_a_program_is_put_back():
    with double_without_gradients_on_meta():
        with torch_defaults():
            assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32
            assert torch.zeros(1).device.type == "cpu"
        with pytest.raises(KeyError), torch_defaults():
            raise KeyError
        assert not torch.is_grad_enabled() and torch.get_default_dtype() == torch.float64
        assert torch.zeros(1).device.type == "meta"
    with torch.inference_mode():
        with torch_defaults():
            assert not torch.is_inference_mode_enabled()
        assert torch.is_inference_mode_enabled()


def test_it_does_not_load_pytorch(monkeypatch):
    monkeypatch.delitem(__import__("sys").modules, "torch")
    with torch_defaults():
        pass
    assert "torch" not in __import__("sys").modules
