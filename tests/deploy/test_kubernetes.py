"""The manifests: valid by the published schemas, and what they promise of updates, rights and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.commands import understood, unknown_settings
from tests.deploy.containerfile import last_uid
from tests.house.sources import PROJECT, ROOT

FILES = sorted((ROOT / "deploy" / "kubernetes").glob("*.yaml"))
OBJECTS: list[dict[str, Any]] = [o for f in FILES for o in yaml.safe_load_all(f.read_text())]
VERSIONS = ("1.30", "1.33", "1.37")


def of(kind: str) -> list[dict[str, Any]]:
    return [o for o in OBJECTS if o["kind"] == kind]


def pods() -> Iterator[dict[str, Any]]:
    yield from (o["spec"]["template"]["spec"] for o in OBJECTS if "template" in o["spec"])


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.name)
def test_each_is_valid_by_the_published_schemas(file: Path) -> None:
    import kubernetes_validate as published

    for manifest in yaml.safe_load_all(file.read_text()):
        for version in VERSIONS:
            published.validate(manifest, version, strict=True)
        broken = manifest | {"spec": manifest["spec"] | {"replicaz": 2}}
        with pytest.raises(published.ValidationError):
            published.validate(broken, VERSIONS[-1], strict=True)


def test_they_run_our_image_by_commands_that_there_are() -> None:
    containers = [c for pod in pods() for c in pod["containers"]]
    assert [understood(c["args"]) for c in containers] == ["keeper", "db upgrade", "serve"]
    image = f"{PROJECT['project']['name']}:{PROJECT['project']['version']}"
    assert {c["image"] for c in containers} == {image}
    assert [unknown_settings(f.read_text()) for f in FILES] == [set()] * len(FILES)


def test_nothing_that_is_run_has_more_rights_than_it_uses() -> None:
    uid, _, gid = last_uid().partition(":")
    for pod in pods():
        told = pod["securityContext"]
        assert (told["runAsNonRoot"], told["runAsUser"], told["runAsGroup"]) == (True, int(uid), int(gid))  # fmt: skip
        assert told["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
            }  # fmt: skip
            assert container["resources"]["limits"]["memory"]


def test_secrets_are_files() -> None:
    assert of("Secret") == []  # made by the operator, and in no repository
    for pod in pods():
        (volume,) = pod["volumes"]
        assert volume["secret"] == {"secretName": "wallet", "defaultMode": 0o440}
        for container in pod["containers"]:
            assert [(m["name"], m["readOnly"]) for m in container["volumeMounts"]] == [
                (volume["name"], True)
            ]
            assert not [e for e in container["env"] if "valueFrom" in e]
            assert "envFrom" not in container


def test_an_update_leaves_no_gap() -> None:
    (serve,) = (d for d in of("Deployment") if d["metadata"]["name"] == "wallet-serve")
    spec = serve["spec"]
    assert spec["replicas"] >= 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    labels = spec["template"]["metadata"]["labels"]
    assert spec["selector"]["matchLabels"] == labels
    (budget,), (service,) = of("PodDisruptionBudget"), of("Service")
    assert budget["spec"] == {"minAvailable": 1, "selector": {"matchLabels": labels}}
    assert service["spec"]["selector"] == labels
    (container,) = spec["template"]["spec"]["containers"]
    assert service["spec"]["ports"][0]["targetPort"] in {p["name"] for p in container["ports"]}
    pause = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pause + 10 <= spec["template"]["spec"]["terminationGracePeriodSeconds"]


def test_the_probes_ask_where_the_processes_answer() -> None:
    for deployment in of("Deployment"):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        paths = {n: container[n]["httpGet"]["path"] for n in container if n.endswith("Probe")}
        assert paths == {"startupProbe": "/healthz", "readinessProbe": "/readyz", "livenessProbe": "/healthz"}  # fmt: skip
        ports = {p["name"]: p["containerPort"] for p in container["ports"]}
        listening = {int(w) for w in container["args"] if w.isdigit()}
        for name in paths:
            assert ports[container[name]["httpGet"]["port"]] in listening
        told = {e["name"]: e["value"] for e in container["env"]}
        assert str(ports["metrics"]) in {told.get("WALLET_METRICS_PORT"), *container["args"]}
