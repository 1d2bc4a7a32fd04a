"""The probe of a machine's speed: a figure that grows with the work."""

from workflow.operate import probe


def test_the_figure_is_the_cpu_time_of_the_work(monkeypatch, capsys):
    clock = iter([0.0, 2.0, 10.0, 11.0, 20.0, 24.0])
    monkeypatch.setattr(probe, "REPEATS", 3)
    monkeypatch.setattr(probe, "_work", lambda *_: 0.0)
    monkeypatch.setattr(probe.time, "process_time", lambda: next(clock))
    assert probe.main() == 0
    assert float(capsys.readouterr().out) == 6.0  # three pieces of the middle one's two seconds
