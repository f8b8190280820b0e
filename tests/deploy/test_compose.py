"""compose.yaml: who runs, who waits for whom, who reaches what, and that no secret stands in it."""

from __future__ import annotations

import re
from typing import Any

import yaml

from tests.deploy.commands import understood, unknown_settings
from tests.deploy.containerfile import last_uid
from tests.house.sources import PROJECT, ROOT

TEXT = (ROOT / "compose.yaml").read_text()
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
OURS = f"{PROJECT['project']['name']}:{PROJECT['project']['version']}"
RUN_BY_US = {n: s for n, s in SERVICES.items() if s["image"] == OURS}
SERVING = {n for n, s in RUN_BY_US.items() if s["command"][0] == "serve"}


def networks(name: str) -> set[str]:
    return set(SERVICES[name]["networks"])


def mounted(service: dict[str, Any]) -> dict[str, str]:
    """Its secrets, each with the file that it is there."""
    told = [{"source": s} if isinstance(s, str) else s for s in service.get("secrets", ())]
    return {s["source"]: s.get("target", f"/run/secrets/{s['source']}") for s in told}


def test_it_runs_what_a_service_is_made_of() -> None:
    commands = {n: understood(s["command"]) for n, s in RUN_BY_US.items()}
    assert sorted(commands.values()) == ["db upgrade", "keeper", "serve", "serve", "signer"]
    assert SERVICES.keys() - RUN_BY_US.keys() == {"postgres", "nginx"}
    assert all("--no-keeper" in SERVICES[n]["command"] for n in SERVING)
    assert unknown_settings(TEXT) == set()


def test_every_image_is_pinned_and_ours_is_built_here() -> None:
    for service in SERVICES.values():
        _, _, tag = service["image"].partition(":")
        assert re.fullmatch(r"\d+\.\d+(\.\d+)?(-[a-z]+)?", tag), service["image"]
    assert all((ROOT / s["build"]["dockerfile"]).is_file() for s in RUN_BY_US.values())


def test_nothing_that_is_run_has_more_rights_than_it_uses() -> None:
    for name, service in RUN_BY_US.items():
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert service["user"] == last_uid()
        assert "cap_add" not in service
    for service in SERVICES.values():
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "network_mode", "pid", "ipc"} & service.keys()
    assert [n for n, s in SERVICES.items() if "ports" in s] == ["nginx"]


def test_whoever_needs_another_waits_until_it_is_ready() -> None:
    for name, service in SERVICES.items():
        assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_completed_successfully":
                assert SERVICES[other]["restart"] == "no"
            else:
                # Ours without a check of its own has the image's, on the port of `serve`.
                assert "healthcheck" in SERVICES[other] or other in SERVING
    assert set(SERVICES["nginx"]["depends_on"]) == SERVING
    for name in (*SERVING, "keeper"):
        assert set(SERVICES[name]["depends_on"]) == {"migrate", "signer"}
    for service in SERVICES.values():
        check = service.get("healthcheck", {})
        assert check.get("disable") or check.get("test", ["CMD"])[0] == "CMD"


def test_secrets_are_files_and_each_is_where_it_is_read() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|KEY\b|SEAL|SECRET|TOKEN|DATABASE_URL", name):
                assert name.endswith("_FILE"), name
                assert value in mounted(service).values()
        assert set(mounted(service)) <= FILE["secrets"].keys()
    assert all(s["file"].startswith("./secrets/") for s in FILE["secrets"].values())
    assert "secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    for name, service in RUN_BY_US.items():
        if name != "signer":
            assert mounted(service) == {
                "wallet": "/var/lib/wallet/wallet.toml",
                "state_keys": "/var/lib/wallet/state-keys",
            }


def test_the_signer_is_apart() -> None:
    """It shares its socket, and neither its keys nor its seal nor the database."""
    holders = {n for n, s in SERVICES.items() if "signer_seal" in mounted(s)}
    keys = {n for n, s in SERVICES.items() for v in s.get("volumes", ()) if v.startswith("signer-keys:")}  # fmt: skip
    assert holders == keys == {"signer"}
    signer = SERVICES["signer"]
    assert "wallet" not in mounted(signer)
    assert not networks("signer") & (networks("postgres") | set.union(*map(networks, SERVING)))
    socket = signer["environment"]["WALLET_SIGNER_SOCKET"]
    assert signer["environment"]["WALLET_SIGNER_PEER_UID"] == last_uid().partition(":")[0]
    for name in (*SERVING, "keeper"):
        assert SERVICES[name]["environment"]["WALLET_SIGNER_SOCKET"] == socket
        assert f"signer-socket:{socket.rpartition('/')[0]}" in SERVICES[name]["volumes"]


def test_nginx_reaches_the_processes_and_the_processes_trust_nginx() -> None:
    nginx = SERVICES["nginx"]
    at = nginx["networks"]["front"]["ipv4_address"]
    assert networks("nginx") == {"front"}
    assert FILE["networks"]["back"] == {"internal": True}
    assert networks("postgres") == {"back"}
    upstream = FILE["configs"]["processes"]["content"]
    assert set(re.findall(r"server ([\w-]+):8402 ", upstream)) == SERVING
    for name in SERVING:
        assert SERVICES[name]["environment"]["WALLET_TRUSTED_PROXIES"] == at
        assert "8402" in SERVICES[name]["command"]
        assert networks(name) == {"front", "back"}
    site = (ROOT / FILE["configs"]["site"]["file"]).read_text()
    assert "proxy_pass http://wallet;" in site
    files = set(re.findall(r"ssl_certificate(?:_key)? (\S+);", site))
    assert files == set(mounted(nginx).values())
