"""A Slurm of one node on this machine: munged, slurmctld and slurmd on loopback, with everything
that they write in a folder. Needs Debian's slurm-wlm and munge, and root."""

import os
import pathlib
import platform
import secrets
import shutil
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
CONFIGURATION = """\
ClusterName=dequant
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def path_of(program):
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    """Starts the daemons; stop() ends them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.daemons = []
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=folder, host=platform.node().split(".")[0], controller_port=free_port(),
            node_port=free_port()))
        (self.folder / "cgroup.conf").write_text("CgroupAutomount=no\n")
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        self.start("munged", "--foreground", "--force", "--key-file", key, "--socket",
                   self.folder / "munge.socket", "--pid-file", self.folder / "munged.pid",
                   "--log-file", self.folder / "munged.log", "--seed-file", self.folder / "seed")
        self.wait(lambda: (self.folder / "munge.socket").exists())
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", platform.node().split(".")[0])
        self.wait(lambda: b"idle" in subprocess.run(
            ["sinfo", "--noheader", "--format=%T"], env=os.environ | self.environment,
            capture_output=True, check=False).stdout)

    def start(self, program, *arguments):
        with (self.folder / f"{program}.out").open("wb") as out:
            self.daemons.append(subprocess.Popen(
                [path_of(program), *map(str, arguments)], env=os.environ | self.environment,
                stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def wait(self, ready):
        for _ in range(300):
            if ready():
                return
            dead = [d.args[0] for d in self.daemons if d.poll() is not None]
            if dead:
                break
            time.sleep(0.1)
        self.stop()
        logs = "\n".join(f"{p.name}:\n{p.read_text()[-2000:]}"
                         for p in sorted(self.folder.glob("*.log")))
        outs = "\n".join(p.read_text()[-1000:] for p in sorted(self.folder.glob("*.out")))
        raise AssertionError(f"Slurm does not start: {logs}\n{outs}")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
