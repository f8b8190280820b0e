"""The image: the usual rules of a lint, and its steps run as they stand, in an empty folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.deploy.containerfile import (
    Stage,
    argv,
    build,
    context,
    defaults,
    filled,
    last_uid,
    python,
    steps,
)
from tests.deploy.test_release import elsewhere, tracked
from tests.house.sources import PACKAGES
from tests.waiting import STUCK_S

SECRET = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|PRIVATE|SEAL|_URL", re.IGNORECASE)
STEPS = steps()
IMAGE_UID = int(last_uid().partition(":")[0])


def texts(*names: str) -> list[str]:
    return [s.text for s in STEPS if s.name in names]


def last_stage() -> list[tuple[str, str]]:
    start = max(n for n, s in enumerate(STEPS) if s.name == "FROM")
    return [(s.name, s.text) for s in STEPS[start:]]


def test_its_base_is_pinned_to_one_release() -> None:
    for image in (filled(text).partition(" ")[0] for text in texts("FROM")):
        name, _, tag = image.partition(":")
        assert "/" not in name, "no registry's host stands in it"
        assert re.fullmatch(r"\d+\.\d+\.\d+-[a-z-]+", tag), image
    assert {n for n in defaults() if SECRET.search(n)} == set()


def test_it_runs_as_a_user_of_no_rights_and_takes_signals_itself() -> None:
    final = dict(last_stage())
    uid, _, gid = final["USER"].partition(":")
    assert min(int(uid), int(gid)) >= 10_000
    assert argv(final["ENTRYPOINT"]) == ["wallet"]
    assert argv(final["CMD"])[0] == "serve"
    assert final["STOPSIGNAL"] == "SIGTERM"
    check = final["HEALTHCHECK"]
    assert "/readyz" in argv(check[check.index("[") :])[-1]
    assert re.search(r"--interval=\d+s --timeout=\d+s --start-period=\d+s --retries=\d+", check)


def test_no_secret_and_no_unpinned_package_comes_into_it() -> None:
    assert not [t for t in texts("ARG", "ENV") if SECRET.search(t.partition("=")[0])]
    assert not [t for t in texts("ENV") if SECRET.search(t)]
    assert texts("ADD") == []
    pips = [p for t in texts("RUN") for p in re.split(r"&&", t) if " pip " in p]
    assert pips
    for command in pips:
        assert "--no-cache-dir" in command
        assert "--require-hashes" in command or "--no-index --no-deps" in command, command
    assert not [t for t in texts("RUN") if re.search(r"\b(apt|apt-get|curl|wget|sudo|ssh)\b", t)]
    assert [t for n, t in last_stage() if n == "COPY"] == ["--from=build /opt/wallet /opt/wallet"]


def test_a_build_is_given_what_it_needs_and_nothing_else() -> None:
    files = set(context())
    assert {n for n in tracked(*PACKAGES) if not n.startswith("app/vendor/")} <= files
    folders = {name.partition("/")[0] for name in files}
    assert folders == {*PACKAGES, "locks", "pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The last stage, in a folder that its user reaches."""
    if os.geteuid() != 0:
        pytest.skip("the image's folders are handed to its user: run this as root")
    if python() is None:
        pytest.skip("there is no Python 3.11 with venv that other users can run: python3-venv")
    folder = Path(tempfile.mkdtemp(prefix="wallet-image-", dir="/var/tmp"))
    try:
        folder.chmod(0o755)
        yield build(folder, elsewhere(tmp_path_factory.mktemp("home")) | {"HOME": str(folder)})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def isolated(image: Stage, *words: str, uid: int = IMAGE_UID, rights: str = "") -> list[str]:
    """A command as the image runs it: its user, no rights, and no place to write but its volumes."""
    kept = f"-all{rights}"
    volumes = [image.inside(p) for p in ("/var/lib/wallet", "/var/lib/wallet-signer", "/run/wallet-signer")]  # fmt: skip
    writable = " && ".join(f"mount --bind {v} {v}" for v in volumes)
    locked = (
        "mount --make-rprivate / && mount --bind / / && cd / && " + writable +
        # Every mount but the volumes and what the kernel itself offers.
        " && for m in $(awk '{print $2}' /proc/self/mounts | sort -u); do case $m in "
        + "|".join([*map(str, volumes), "/proc*", "/sys*", "/dev*"])
        + ") ;; *) mount -o remount,bind,ro $m 2>/dev/null || true;; esac; done && "
        f"cd {image.inside('.')} && exec setpriv --reuid {uid} --regid {uid} --clear-groups --no-new-privs "
        f'--bounding-set={kept} --inh-caps={kept} --ambient-caps={kept} "$@"'
    )  # fmt: skip
    return ["unshare", "--mount", "sh", "-ec", locked, "wallet", *words]


def can_isolate() -> bool:
    if not (shutil.which("unshare") and shutil.which("setpriv")):
        return False
    probe = ["unshare", "--mount", "sh", "-c", "mount --make-rprivate / && mount --bind / /"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


@pytest.mark.campaign  # `make deploy-check`; it fetches all that a service needs
@pytest.mark.slow
def test_its_steps_make_a_service_that_serves_as_its_user_on_a_read_only_root(
    image: Stage,
) -> None:
    if not can_isolate():
        pytest.skip("no mount namespace can be made here (unshare, setpriv)")
    for path in ("/var/lib/wallet", "/var/lib/wallet-signer", "/run/wallet-signer"):
        told = image.inside(path).stat()
        assert (oct(told.st_mode & 0o777), told.st_uid) == ("0o700", 10_001)
    assert not list(image.inside("/opt/wallet/bin").glob("pip*"))
    env = image.environment({})
    options: dict[str, object] = {"env": env, "text": True}

    def tried(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(isolated(image, *words), env=env, text=True, capture_output=True, timeout=STUCK_S, check=False)  # fmt: skip

    assert tried("touch", str(image.inside("/opt/wallet/x"))).returncode != 0
    assert tried("touch", str(image.root.parent / "x")).returncode != 0
    assert tried("sh", "-c", "touch /tmp/wallet-x || touch /var/tmp/wallet-x").returncode != 0
    assert tried("touch", str(image.inside("/var/lib/wallet/x"))).returncode == 0
    assert tried("id", "-u").stdout == "10001\n"

    entry, command = argv(image.metadata["ENTRYPOINT"]), argv(image.metadata["CMD"])
    process = subprocess.Popen(isolated(image, *entry, *command), stderr=subprocess.PIPE, start_new_session=True, **options)  # type: ignore[call-overload]  # fmt: skip
    try:
        assert any("serving on" in line for line in process.stderr)
        health = image.metadata["HEALTHCHECK"]
        until = time.monotonic() + STUCK_S
        while (done := tried(*argv(health[health.index("[") :]))).returncode != 0:
            assert time.monotonic() < until, done.stderr
        with urlopen("http://127.0.0.1:8402/readyz", timeout=STUCK_S) as answer:
            assert answer.status == 200
        assert image.inside("/var/lib/wallet/wallet.sqlite").stat().st_uid == 10_001
        process.send_signal(signal.SIGTERM)
        assert process.wait(STUCK_S) == 0, process.stderr.read()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stderr.close()


ADDRESS = (
    "import json, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
    "s.sendall(json.dumps({'do': 'address', 'network': 'testnet', 'wallet': '0x' + '11' * 20}).encode() + b'\\n'); "
    "print(s.makefile().readline())"
)


@pytest.mark.campaign  # beside the other
@pytest.mark.slow
@pytest.mark.parametrize(
    ("uid", "rights", "mode"), [(IMAGE_UID, "", 0o700), (IMAGE_UID + 1, ",+chown", 0o711)], ids=["as in compose.yaml", "as in its unit"],
)  # fmt: skip
def test_the_signer_answers_the_service_s_user_alone(
    uid: int, rights: str, mode: int, image: Stage
) -> None:
    """Under the same user in a container of its own; under a user of its own, with the one right to give its socket away."""
    if not can_isolate():
        pytest.skip("no mount namespace can be made here (unshare, setpriv)")
    keys, run = image.inside("/var/lib/wallet-signer"), image.inside("/run/wallet-signer")
    seal, socket = keys / "seal", run / "signer.sock"
    seal.write_text("s" * 44)
    seal.chmod(0o600)
    run.chmod(mode)
    for path in (keys, run, *keys.rglob("*")):
        os.chown(path, uid, uid)
    env = image.environment({
        "WALLET_SIGNER_SOCKET": str(socket), "WALLET_SIGNER_KEYS": str(keys), "WALLET_SIGNER_SEAL_FILE": str(seal),
        "WALLET_SIGNER_PEER_UID": str(IMAGE_UID),
    })  # fmt: skip
    # Where wallet.toml of the service is read from is closed to the signer's own user.
    image_of_signer = replace(image, workdir="/var/lib/wallet-signer")
    command = isolated(image_of_signer, "wallet", "signer", uid=uid, rights=rights)
    process = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
    assert process.stdout is not None

    def answer(user: int) -> subprocess.CompletedProcess[str]:
        words = isolated(image, "python", "-c", ADDRESS, str(socket), uid=user)
        return subprocess.run(words, env=env, text=True, capture_output=True, timeout=STUCK_S, check=False)  # fmt: skip

    try:
        lines = list[str]()
        for line in process.stdout:
            lines.append(line)
            if "signing for user" in line:
                break
        assert "signing for user" in lines[-1], lines
        assert socket.stat().st_uid == IMAGE_UID
        told = answer(IMAGE_UID)
        assert json.loads(told.stdout)["ok"]["address"].startswith("0x"), told
        assert answer(IMAGE_UID + 2).returncode != 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(STUCK_S) == 0, process.stderr.read()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
