"""What is mistyped on a command line is told in a sentence at once, or simply works."""

import base64
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from tests import programs
from tests.faults import steep
from tests.workflow import checkout
from tests.workflow.webserver import Server
from workflow.data import fetch
from workflow.data.download import download
from workflow.data.manifest import File
from workflow.data.places import without_credentials
from workflow.data.raw_file import Rejected
from workflow.plan import expand, wishes
from workflow.plan.nearest import nearest_name
from workflow.run import job
from workflow.trace.curves import PlanError

ROOT = checkout.ROOT
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def make(*arguments, dry=True, **variables):
    """`make -n ARGUMENTS` in this checkout, which starts nothing, under more variables."""
    ours = ("PATH", "HOME", "LANG", "TMPDIR")  # and nothing that this process was given by make
    environment = {name: os.environ[name] for name in ours if name in os.environ}
    command = ["make", *(["-n"] if dry else []), f"PYTHON={sys.executable}", *arguments]
    return programs.run(command, cwd=ROOT, env={**environment, **variables})


def test_make_refuses_a_name_that_no_target_reads():
    """Make alone would ignore it, and run everything."""
    for arguments, sentence in [
        (["figures", "SEED=3"], "make figures reads no SEED. It reads: CORES FRESH PAPERS PYTHON"),
        (["figures", "scale=smoke"], "make figures reads no scale. It reads: "),
        (["verify", "seed=1"], "make verify reads no seed. It reads: "),
        (["compare", "SEEDS=0-9"], "make compare reads no SEEDS"),
        (["figur"], "No rule to make target 'figur'"),
    ]:
        refused = make(*arguments, dry=False)
        assert refused.returncode == 2 and refused.stdout == ""
        assert sentence in refused.stderr


def test_make_hands_on_what_it_was_given():
    for arguments, command in [
        (["figures", "PAPERS=bbkb, bkb"], "papers=bbkb,bkb"),
        (["figures", "PAPERS= bbkb ,bkb "], "papers=bbkb,bkb"),
        (["status", "PAPERS=bbkb bkb", "SCALE=smoke"], "--papers bbkb,bkb"),
        (["figures", "SEEDS=0-4", "CORES=10"], "--cores 10 --config scale=paper  seeds=0-4"),
        (["figures", "FRESH=1"], "scale=paper   fresh=1"),
        (["figures"], "drawn --config scale=paper"),
        (["figure", "FIGURE=a/b"], 'workflow.report "a" "b"'),
        (["status", "FRESH=1"], "--fresh"),
        (["verify", "SEED=3", "MINUTES=5"], "--minutes 5 --seed 3"),
        (["verify", "SEED=3", "N=40"], "--seed 3 --many 40"),
        (["verify", "figures", "SEED=3", "SEEDS=1"], "seeds=1"),
        (["carry", "SEED=6", "PAPERS=bkb", "CORES=3"], "--seed 6 --cores 3"),
        (["compare", "METHOD=x", "FIGURE=a/b", "CORES=3"], 'workflow.compare "x" "a/b"  --cores 3'),
        (["compare", "METHOD=x", "FIGURE=a/b", "PARAMETERS=c d"], '--parameters "c d"'),
        (["publish", "PAPERS=bkb", "FROM=a b"], '--from "a b"'),
        (["publish", "SCALE=smoke"], "-m workflow.publish  --scale smoke"),
    ]:
        made = make(*arguments)
        assert made.returncode == 0, made.stderr
        assert command in made.stdout.replace(" \\\n ", "")


def test_every_target_of_make_and_what_it_reads_stand_in_its_help():
    told = make("help", dry=False).stdout
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    (targets,) = [line.partition(":= ")[2].split() for line in lines if line.startswith("TARGETS")]
    for target in targets:
        assert f"\n{target} " in f"\n{told}", target
    assert make("figures", SCALE="smoke").stdout.count("scale=smoke") == 1


@pytest.fixture(scope="module")
def mini(tmp_path_factory):
    """A checkout with the tiny paper, in which nothing was run."""
    return checkout.make(tmp_path_factory.mktemp("mini"))


@pytest.mark.slow
def test_snakemake_refuses_it_before_any_job_and_hears_blanks_after_commas_as_none(mini):
    for cores, config, sentence in [
        (1, "scal=smoke", "'scal' was unexpected"),
        (1, "fresh=yes", "'yes' is not one of [0, 1]"),
        (1, "papers=mino", "unknown paper 'mino'; did you mean 'mini'?"),
        (0, "papers=mini", "--cores: expected a positive number, got 0: no job could start"),
    ]:
        done = checkout.snakemake(mini, cores=cores, config=[config])
        said = done.stdout + done.stderr
        assert done.returncode == 1 and sentence in said and "Traceback" not in said
        assert not (mini / "results").exists()
    checkout.made(mini, "-n", "--quiet", "all", config=["papers=mini, mini,"])
    checkout.succeed(mini, "workflow.status", "--scale", "smoke", "--papers", " mini , mini")


def test_a_wish_that_nobody_can_fulfil_is_told():
    for scale, sentence in [
        ("smok", "unknown scale 'smok'; did you mean 'smoke'? known: smoke"),
        ("nonsense", "unknown scale 'nonsense'; known: smoke, paper"),
    ]:
        with pytest.raises(PlanError, match=re.escape(sentence)):
            expand.load("bkb", scale)


def test_run_names_what_is_nearest(capsys):
    for problem, curve, sentence in [
        ("abalon", "BKB", "unknown problem 'abalon' at scale smoke; did you mean 'abalone'"),
        ("abalone", "GPUCB", "did you mean 'GP-UCB'? known there: "),
        ("studies", "x", "unknown study 'x'; known: "),
    ]:
        assert job.main(["bkb", problem, curve, "0", "--scale", "smoke"]) == 1
        assert sentence in capsys.readouterr().err


def test_the_nearest_name_is_one_that_is_known_or_none():
    known = ["scale", "papers", "seeds", "N"]
    for name, nearest in (("SCALE", "scale"), ("paper", "papers"), ("n", "N"), ("x", ""), ("", "")):
        assert nearest_name(name, known) == nearest


def test_a_file_where_a_folder_belongs_is_told(tmp_path):
    for name in ("results", "figures", "logs"):
        (tmp_path / name).write_text("somebody's notes")
        sentence = f"{name}: expected a folder, since results go there, got a file of that name"
        with pytest.raises(PlanError, match=sentence):
            wishes.check_folders(tmp_path)
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to("nowhere")
        with pytest.raises(PlanError, match=f"{name}: expected a folder, got a link to nowhere"):
            wishes.check_folders(tmp_path)
        (tmp_path / name).unlink()


@pytest.mark.slow
def test_a_file_where_a_folder_belongs_is_told_by_all_who_would_write_there(tmp_path):
    copy = steep.make(tmp_path)
    (copy / "results").write_text("somebody's notes")
    for arguments in (steep.RUN, ("workflow.status", "--scale", "smoke"), steep.command()):
        refused = checkout.run(copy, *arguments)
        assert refused.returncode == 1, arguments
        assert "results: expected a folder" in refused.stdout + refused.stderr
        assert "Traceback" not in refused.stdout + refused.stderr
    assert (copy / "results").read_text() == "somebody's notes"


@pytest.mark.slow
def test_a_locale_without_utf_8_changes_nothing(tmp_path, monkeypatch):
    """Letters that are not ASCII in a paper reach the figures whole, and a terminal escaped."""
    copy = checkout.make(tmp_path)
    path = copy / "papers" / "mini.yaml"
    text = path.read_text().replace("beats uniform search", "beats the naïve search with β ≤ ½")
    path.write_text(text.replace("A tiny paper", "A tiny paper by Gödel"), encoding="utf-8")
    for name, value in ASCII.items():
        monkeypatch.setenv(name, value)
    verdicts = "figures/smoke/mini/verdicts.md"
    command = ("snakemake", "--cores", "2", verdicts, "--config", "scale=smoke")
    checkout.succeed(copy, *command)
    assert "naïve search with β ≤ ½" in (copy / verdicts).read_text(encoding="utf-8")
    checkout.succeed(copy, "workflow.status", "--scale", "smoke")
    show = "import sys, workflow; print(chr(946)); print(chr(946), file=sys.stderr)"
    environment = {**checkout.offline(copy), **ASCII}
    shown = programs.python("-c", show, cwd=copy, env=environment, text=False)
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, b"\\u03b2\n", b"\\u03b2\n")


BYTES = b"0.1,1\n0.4,2\n"
USER, PASSWORD = "anna", "p@ss/wörd:1"
WRITTEN = "anna:p%40ss%2Fw%C3%B6rd%3A1"  # as it must be written in a URL


class Guarded(Server):
    """A server that answers nobody without the name and the password."""

    def answer(self, handler):
        wanted = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if handler.headers.get("Authorization") != f"Basic {wanted}":
            self.asked.append(handler.headers)
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="data"')
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        super().answer(handler)


@pytest.fixture
def guarded():
    server = Guarded()
    yield server
    server.close()


def address(server, credentials):
    return server.url.replace("http://", f"http://{credentials}@")


@pytest.mark.slow
def test_a_password_of_a_mirror_is_used_and_found_nowhere(tmp_path, guarded):
    """By a real workflow that fetches its table: neither printed nor kept, right or wrong."""
    copy = checkout.make(tmp_path)
    source = Path(os.environ.get("NOREGRET_DATA", ""))
    manifest = yaml.safe_load((copy / "data" / "manifest.yaml").read_text(encoding="utf-8"))
    place = manifest["abalone"]["mirror"][0]["path"]
    there = (source / place).is_file()
    guarded.serve(f"/{place}", (source / place).read_bytes() if there else b"another file")
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--config", "scale=smoke"]
    target = "data/prepared/or-substitute/abalone.parquet"
    environment = {**checkout.offline(copy), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}

    def fetched(credentials):
        shutil.rmtree(copy / "data" / "prepared", ignore_errors=True)
        mirror = {"NOREGRET_DATA": address(guarded, credentials)}
        variables = {**environment, **mirror}
        done = programs.run([*command, "--", target], cwd=copy, env=variables, text=False)
        everything = [path.read_bytes() for path in copy.rglob("*") if path.is_file()]
        assert done.returncode == 0, done.stderr
        for secret in (b"p%40ss", PASSWORD.encode(), b"wrong-word", b"anna:"):
            assert not any(secret in content for content in (*everything, done.stdout, done.stderr))
        return done.stderr.decode()

    assert "error: 401" in fetched("anna:wrong-word")
    assert guarded.hits[f"/{place}"] == 0
    said = fetched(WRITTEN)
    assert guarded.hits[f"/{place}"] >= 1
    assert f"{guarded.url}/{place}" in said
    if there:
        assert fetch.provenance(copy / target)["source"] == "mirror"


def test_a_password_goes_to_its_own_server_alone(tmp_path, monkeypatch):
    """Another one, to which the mirror leads, is not told."""
    monkeypatch.setenv("no_proxy", "*")
    other = Server()
    other.serve("/file", BYTES)

    class Leads(Guarded):
        def answer(self, handler):
            handler.send_response(302)
            handler.send_header("Location", f"{other.url}/file")
            handler.send_header("Content-Length", "0")
            handler.end_headers()

    leads = Leads()
    try:
        download(f"{address(leads, WRITTEN)}/file", tmp_path / "file", File(path="file"))
        assert (tmp_path / "file").read_bytes() == BYTES
        assert [headers.get("Authorization") for headers in other.asked] == [None]
    finally:
        leads.close()
        other.close()


def test_an_address_is_shown_without_what_stands_before_its_host():
    for given, shown in [
        ("http://anna:secret@host:80/data", "http://host:80/data"),
        ("https://token@host/data", "https://host/data"),
        ("http://anna:sec/ret@host/data", "http://host/data"),
        ("http://anna:sec@ret@host/data", "http://host/data"),
        ("http://anna:s://t@host/data", "http://host/data"),
        ("anna:secret@host/data", "host/data"),
        ("http://host/data", "http://host/data"),
        ("/home/me@work/data", "/home/me@work/data"),
        ("file:///home/me@work/data", "file:///home/me@work/data"),
    ]:
        assert without_credentials(given) == shown
        assert "sec" not in without_credentials(given)


def test_a_password_that_is_not_escaped_is_told_and_not_shown(tmp_path):
    for written in ("anna:sec/ret", "anna:sec#ret", "anna:sec?ret", "anna:9/ret"):
        with pytest.raises(Rejected, match="write @ as %40") as refused:
            download(f"http://{written}@host/data", tmp_path / "file", File(path="file"))
        assert "ret" not in str(refused.value).replace("secret", "")
