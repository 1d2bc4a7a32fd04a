"""A Slurm cluster of this one machine, for tests: munged, slurmctld and slurmd on loopback, with
all their files in one folder.

Needs root. It stops only what it started. There are no cgroups and no accounting database: nothing
enforces what a job asks for, and jobs are seen by squeue alone. The link /etc/slurm/slurm.conf
exists while the cluster does, since inside a job the plugin removes SLURM_CONF, by which srun would
find the file elsewhere.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

CONFIGURED = Path("/etc/slurm/slurm.conf")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
PACKAGES = ("slurm-wlm", "munge")
SLOTS = 8  # cores that the node says to have at least, for jobs that wait more than they compute
MEMORY_MB = 32000  # likewise
LIVING = ("PENDING", "RUNNING", "COMPLETING")
PATIENCE = 30.0  # seconds until a daemon answers, or has ended
CONF = """\
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MinJobAge=86400
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MpiDefault=none
SwitchType=switch/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE DefaultTime=60 State=UP
"""


class Unavailable(RuntimeError):
    """No cluster can be had here; says why, and what to do where something can be done."""


class Cluster:
    """The daemons whose files lie in `folder`; by these another process may stop them."""

    def __init__(self, folder):
        self.folder = folder.resolve()
        self.conf = self.folder / "slurm.conf"

    def start(self):
        """Start munged, slurmctld and slurmd and wait until the node is idle.

        Raises Unavailable, with nothing left running.
        """
        prepare()
        for part in ("state", "spool", "log"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        given = {"folder": self.folder, "host": socket.gethostname().partition(".")[0]}
        given |= dict(zip(("controller_port", "node_port"), free_ports(2), strict=True))
        given |= dict(zip(("cpus", "memory"), size(), strict=True))
        self.conf.write_text(CONF.format(**given))  # slurmd looks for its node by that name
        self._key()
        self._link()
        try:
            self._spawn("munged", "--foreground", "--force", "--num-threads=2", *self._munge())
            self._until((self.folder / "munge.socket").exists, "munged")
            self._spawn("slurmctld", "-D", "-f", str(self.conf))
            self._spawn("slurmd", "-D", "-f", str(self.conf))
            self._until(
                lambda: "idle" in command("sinfo", "--noheader", "--format=%T"),
                "a node that is idle",
            )
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """Cancel all jobs, end the daemons, remove the link."""
        if self.is_linked():
            with suppress(Unavailable):  # half installed
                cancel_all()
        for name in ("slurmd", "slurmctld", "munged"):
            self._end(name)
        if self.is_linked():
            CONFIGURED.unlink()

    def is_linked(self):
        return CONFIGURED.is_symlink() and CONFIGURED.readlink() == self.conf

    def _key(self):
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))

    def _munge(self):
        places = {
            "key-file": "munge.key",
            "socket": "munge.socket",
            "pid-file": "munge.pid",
            "log-file": "log/munged.log",
            "seed-file": "munge.seed",
        }
        return [f"--{option}={self.folder / name}" for option, name in places.items()]

    def _link(self):
        """Put the link there; Unavailable if anything is, but for a link to nowhere."""
        CONFIGURED.parent.mkdir(parents=True, exist_ok=True)
        if CONFIGURED.is_symlink() and not CONFIGURED.exists():
            CONFIGURED.unlink()  # the cluster that it belonged to has gone with its folder
        try:
            CONFIGURED.symlink_to(self.conf)
        except FileExistsError:
            where = CONFIGURED.resolve()
            raise Unavailable(
                f"{CONFIGURED} is there ({where}): it belongs to another cluster; if to one of ours"
                f" that was killed, call Cluster(Path({str(where.parent)!r})).stop() of"
                " tests/slurm/cluster.py"
            ) from None

    def _spawn(self, name, *arguments):
        """Start a daemon that survives this process, and write down its id."""
        with (self.folder / "log" / f"{name}.out").open("w") as out:
            daemon = subprocess.Popen(
                [program(name), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=alone(),
                cwd=self.folder,
            )
        (self.folder / f"{name}.started").write_text(f"{daemon.pid}\n")

    def _end(self, name):
        """End a daemon by its id, if that is still its own."""
        noted = self.folder / f"{name}.started"
        with suppress(FileNotFoundError, ProcessLookupError):
            pid = int(noted.read_text())
            for how, seconds in ((signal.SIGTERM, PATIENCE / 3), (signal.SIGKILL, PATIENCE)):
                if str(self.folder) in command_line(pid):
                    os.kill(pid, how)
                    _wait(lambda: not command_line(pid), seconds)
        noted.unlink(missing_ok=True)

    def _until(self, is_so, what):
        """Wait for what a daemon must do. Raises Unavailable with the end of all logs."""
        if not _wait(is_so, PATIENCE):
            logs = "\n".join(
                path.read_text(errors="replace")[-1000:]
                for path in sorted((self.folder / "log").iterdir())
            )
            raise Unavailable(f"expected {what} within {PATIENCE:.0f} s, got none: {logs}")


def prepare():
    """Make sure that Slurm's programs are here. Raises Unavailable."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Unavailable("Slurm's daemons need Linux and root")
    if missing := [name for name in PROGRAMS if find(name) is None]:
        raise Unavailable(f"{', '.join(missing)} not found: install {' and '.join(PACKAGES)}")


def find(name):
    """Where a program lies, also where a user's PATH does not lead; None if it is not installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:/usr/local/sbin")


def program(name):
    """The same. Raises Unavailable."""
    found = find(name)
    if found is None:
        raise Unavailable(f"{name} not found: install {' and '.join(PACKAGES)}")
    return found


def alone(environment=os.environ):
    """An environment without what would lead Slurm's programs to another cluster."""
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith(("SLURM_", "SBATCH_", "SRUN_"))
    }


def command(name, *arguments):
    """What one of Slurm's programs prints; "" where it fails or hears nothing."""
    try:
        call = [program(name), *arguments]
        done = subprocess.run(
            call, capture_output=True, text=True, check=False, env=alone(), timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""


def jobs(*states):
    """The state of every job that Slurm remembers, by its id, or of those in some states."""
    rows = command(
        "squeue", "--noheader", "--states", ",".join(states) or "all", "--format=%i %T"
    ).splitlines()
    return dict(row.split() for row in rows)


def cancel_all():
    """Cancel what waits or runs, and wait until it is gone."""
    if living := jobs(*LIVING):
        command("scancel", *living)
        _wait(lambda: not jobs(*LIVING), PATIENCE)


def processes(job):
    """The command lines of a job's processes, by id, without Slurm's own."""
    mark = f"SLURM_JOB_ID={job}".encode()
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found[int(place.name)] = command_line(int(place.name))
    return {pid: line for pid, line in found.items() if line and "slurmstepd" not in line}


def command_line(pid):
    """How a process was started; "" if it has ended, also where nobody has waited for it."""
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return ""


def size():
    """Cores and MiB that the node says to have."""
    total = re.search(r"MemTotal: +(\d+) kB", Path("/proc/meminfo").read_text())
    return max(SLOTS, os.cpu_count() or 1), max(MEMORY_MB, int(total[1]) // 1100 if total else 0)


def free_ports(many):
    """Ports of loopback on which nobody listens."""
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(many)]
    ports = [server.getsockname()[1] for server in opened]
    for server in opened:
        server.close()
    return ports


def _wait(is_so, seconds):
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not (found := is_so()) and time.monotonic() < end:
        time.sleep(0.1)
    return bool(found)
