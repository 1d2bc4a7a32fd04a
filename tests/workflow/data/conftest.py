"""A server on this machine, for tests of what comes from one."""

import pytest

from tests.workflow import webserver


@pytest.fixture
def server():
    running = webserver.Server()
    yield running
    running.close()
