"""An optimizer whose queries depend on all that it was told, and on the global generators, as
those of a careless library might; it does what is asked for.
"""

import numpy as np
import wicked_deeds

from algorithms.api import Arms, Box, Optimizer


class Search(Optimizer):
    """Between a random query and the best one so far."""

    domains = (Box, Arms)
    constrained = True

    def __init__(self, domain, rng, *, repetition):
        super().__init__(domain, rng)
        self.seed = repetition
        self.step = {"ask": 0, "tell": 0, "report": 0, "recommend": 0}
        self.known = 0.0
        self.perform("build")

    def perform(self, hook, count=0):
        """What anyone may do."""
        for deed in wicked_deeds.asked(f"optimizer: {hook}", self.seed, count):
            deed.do()

    def counted(self, hook):
        """How often this was called before."""
        count = self.step[hook]
        self.step[hook] += 1
        self.perform(hook, count)
        return count

    def ask(self, room, pending):
        count = self.counted("ask")
        q = min(room, 2)
        other = np.random.random()  # noqa: NPY002
        drawn = (self.rng.random((q, 2)) + other + self.known) % 1
        answer = (drawn[:, 0] * 40).astype(np.int64) if isinstance(self.domain, Arms) else drawn
        for deed in wicked_deeds.asked("ask", self.seed, count):
            arguments = (answer, room, pending) if "pending" in deed.name else (answer, room)
            answer = (deed.do(*arguments) or (answer,))[0]
        return answer

    def tell(self, query, obs):
        super().tell(query.copy(), obs)
        self.known = float(self.y.sum() + self.g.sum() + self.x.sum() + self.factor_values.sum())
        count = self.counted("tell")
        for deed in wicked_deeds.asked("tell", self.seed, count):
            deed.do(self, query, obs)

    def report(self):
        count = self.counted("report")
        found = {"known": self.known}
        for deed in wicked_deeds.asked("report", self.seed, count):
            done = deed.do()
            found = done[0] if isinstance(done, tuple) else done
        return found

    def recommend(self):
        count = self.counted("recommend")
        answer = self.x[np.argmax(self.y)][None]
        for deed in wicked_deeds.asked("recommend", self.seed, count):
            answer = (deed.do(answer, 1) or (answer,))[0]
        return answer
