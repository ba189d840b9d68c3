"""Container and Kubernetes files: valid by their own tools, and in agreement with the product and with each other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from dockerfile_parse import DockerfileParser

from support.fake_client import FakeGateway
from tts_service import __version__
from tts_service.settings import Settings, load

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy/container/Dockerfile"
COMPOSE = ROOT / "deploy/container/compose.yaml"
KUBERNETES = ROOT / "deploy/kubernetes"


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def objects() -> dict[str, Any]:
    """Return the objects that kustomization.yaml names, by kind."""
    found = [read(KUBERNETES / name) for name in read(KUBERNETES / "kustomization.yaml")["resources"]]
    return {item["kind"]: item for item in found}


def container() -> dict[str, Any]:
    (only,) = objects()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(only)


def test_hadolint_has_nothing_to_say() -> None:
    command = [str(Path(sys.executable).parent / "hadolint"), str(DOCKERFILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image_has_two_stages_no_root_and_a_health_check() -> None:
    steps = DockerfileParser(path=str(DOCKERFILE)).structure
    names = [step["instruction"] for step in steps]
    assert names.count("FROM") == 2
    user = next(step["value"] for step in steps if step["instruction"] == "USER")
    assert user == "990:990"
    assert "HEALTHCHECK" in names
    last_stage = names[len(names) - names[::-1].index("FROM") :]
    # Only the finished installation is copied into what is shipped.
    assert last_stage.count("COPY") == 1


def test_every_file_that_the_image_copies_is_there_and_not_ignored() -> None:
    steps = DockerfileParser(path=str(DOCKERFILE)).structure
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for step in steps:
        if step["instruction"] == "COPY" and "--from" not in step["value"]:
            for name in step["value"].split()[:-1]:
                assert (ROOT / name).exists(), name
                assert f"!{name}" in ignored, name


def test_the_settings_of_the_image_are_settings() -> None:
    parser = DockerfileParser(path=str(DOCKERFILE))
    environment = {name: value for name, value in parser.envs.items() if name.startswith("TTS_SERVICE_")}
    settings = load(None, environment, {}).settings
    assert settings.gateway.host == "0.0.0.0"
    assert settings.service.runtime_dir == "/run/tts/service"


def test_every_image_name_has_the_present_version() -> None:
    names = [container()["image"], read(COMPOSE)["x-node"]["image"]]
    names += re.findall(r"tts-service:[\w.]+", DOCKERFILE.read_text())
    assert set(names) == {f"tts-service:{__version__}"}


def test_compose_gives_the_nodes_the_addresses_that_nginx_asks() -> None:
    compose = read(COMPOSE)
    addresses = {
        service["networks"]["nodes"]["ipv4_address"]
        for name, service in compose["services"].items()
        if name.startswith("node-")
    }
    conf = (ROOT / "deploy/nginx/several-nodes.conf").read_text()
    assert addresses == set(re.findall(r"^ +server ([\d.]+):8000", conf, re.MULTILINE))
    for volume in compose["services"]["nginx"]["volumes"]:
        assert (COMPOSE.parent / volume.split(":")[0]).resolve().is_file(), volume
    sysctls = dict(re.findall(r"^(net\S+) = (\d+)$", (ROOT / "deploy/nginx/sysctl.conf").read_text(), re.MULTILINE))
    assert {name: str(value) for name, value in compose["services"]["nginx"]["sysctls"].items()} == sysctls


@pytest.mark.parametrize("kind", ["Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"])
def test_kubernetes_knows_every_field(kind: str) -> None:
    kubernetes_validate.validate(objects()[kind], kubernetes_validate.latest_version(), strict=True)


def test_a_wrong_field_would_be_found() -> None:
    wrong = objects()["Service"] | {"spec": {"portz": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, kubernetes_validate.latest_version(), strict=True)


def test_labels_names_and_ports_meet() -> None:
    found = objects()
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == found["Deployment"]["metadata"]["name"]
    (port,) = container()["ports"]
    assert found["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]
    assert (
        str(port["containerPort"])
        == found["Deployment"]["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"]
    )


def test_probes_ask_for_routes_that_there_are() -> None:
    routes = {str(rule) for rule in FakeGateway().app.url_map.iter_rules()}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container()[probe]["httpGet"]["path"] in routes


def test_time_limits_leave_room_for_those_of_the_settings() -> None:
    settings = Settings()
    needed_s = settings.gateway.graceful_timeout_s + settings.workers.drain_timeout_s
    pre_stop_s = int(container()["lifecycle"]["preStop"]["exec"]["command"][1])
    grace_s = objects()["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s > needed_s + pre_stop_s
    assert int(read(COMPOSE)["x-node"]["stop_grace_period"].removesuffix("s")) > needed_s
    startup = container()["startupProbe"]
    load_s = settings.workers.load_timeout_s + settings.workers.warm_up_timeout_s
    assert startup["periodSeconds"] * startup["failureThreshold"] > load_s


def test_the_pod_gets_whole_cpus_of_its_own() -> None:
    resources = container()["resources"]
    assert resources["requests"] == resources["limits"]
    assert resources["limits"]["cpu"].isdigit()


def test_the_autoscaler_looks_at_a_metric_that_there_is() -> None:
    (metric,) = objects()["HorizontalPodAutoscaler"]["spec"]["metrics"]
    name = metric["pods"]["metric"]["name"]
    assert f'"{name}"' in (ROOT / "workers/tts_workers/metrics.py").read_text()
