"""The examples of clusters fit the schemas of what reads them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from matchenv.cli.running import parsed
from matchenv.cli.study import Study

ray = pytest.importorskip("ray")
jsonschema = pytest.importorskip("jsonschema")
yaml = pytest.importorskip("yaml")

pytestmark = pytest.mark.ray

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "cluster"


def read(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def record(required: str = "", **properties: Any) -> dict[str, Any]:
    """The schema of a mapping with these names and no others."""
    return {"type": "object", "required": required.split(), "additionalProperties": False,
            "properties": properties}  # fmt: skip


TEXT, WHOLE, YES = {"type": "string"}, {"type": "integer", "minimum": 0}, {"type": "boolean"}
LIST = {"type": "array", "items": {"type": "object"}}
QUANTITIES = {"type": "object", "additionalProperties": {"type": "string",
              "pattern": r"^\d+(m|Ki|Mi|Gi|Ti)?$"}}  # fmt: skip
CONTAINER = record(
    "name image",
    name={"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    image=TEXT,
    resources=record(limits=QUANTITIES, requests=QUANTITIES),
    volumeMounts={"type": "array", "items": record("name mountPath", name=TEXT, mountPath=TEXT)},
)
POD = record("spec", spec=record("containers", volumes=LIST,
             containers={"type": "array", "minItems": 1, "items": CONTAINER}))  # fmt: skip
PARAMETERS = {"type": "object", "additionalProperties": TEXT}
# What KubeRay's definition of a RayJob (ray.io/v1) says of what we use.
RAY_JOB = record(
    "apiVersion kind metadata spec",
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayJob"},
    metadata=record("name", name=TEXT),
    spec=record(
        "entrypoint rayClusterSpec",
        entrypoint=TEXT,
        backoffLimit=WHOLE,
        shutdownAfterJobFinishes=YES,
        ttlSecondsAfterFinished=WHOLE,
        rayClusterSpec=record(
            "headGroupSpec",
            rayVersion=TEXT,
            enableInTreeAutoscaling=YES,
            headGroupSpec=record("template", rayStartParams=PARAMETERS, template=POD),
            workerGroupSpecs={
                "type": "array",
                "items": record(
                    "groupName minReplicas maxReplicas template",
                    groupName=TEXT,
                    replicas=WHOLE,
                    minReplicas=WHOLE,
                    maxReplicas=WHOLE,
                    rayStartParams=PARAMETERS,
                    template=POD,
                ),
            },
        ),
    ),
)


def test_the_file_for_ray_up() -> None:
    schema = Path(ray.__file__).parent / "autoscaler" / "ray-schema.json"
    found = read("ray_up.yaml")
    jsonschema.validate(found, json.loads(schema.read_text()))
    kinds = found["available_node_types"]
    assert found["head_node_type"] in kinds
    assert sum(kind.get("max_workers", 0) for kind in kinds.values()) <= found["max_workers"]
    # Machines of one kind round alike.
    assert len({kind["node_config"]["InstanceType"] for kind in kinds.values()}) == 1


def test_the_job_for_kuberay() -> None:
    found = read("ray_job.yaml")
    jsonschema.validate(found, RAY_JOB)
    cluster = found["spec"]["rayClusterSpec"]
    assert cluster["rayVersion"] == ray.__version__
    head = cluster["headGroupSpec"]["template"]["spec"]
    (mount,) = head["containers"][0]["volumeMounts"]
    assert [volume["name"] for volume in head["volumes"]] == [mount["name"]]
    name, command, *options = shlex.split(found["spec"]["entrypoint"])
    assert (name, command) == ("matchenv", "study")
    study = parsed(command, Study, options)
    assert study.engine == "ray"
    assert study.out.is_relative_to(mount["mountPath"])


@pytest.mark.parametrize("wrong", ["replica", "entry_point"])
def test_the_schema_finds_a_misspelt_name(wrong: str) -> None:
    found = read("ray_job.yaml")
    place = found["spec"]
    if wrong == "replica":
        place = place["rayClusterSpec"]["workerGroupSpecs"][0]
    place[wrong] = 1
    with pytest.raises(jsonschema.ValidationError, match=wrong):
        jsonschema.validate(found, RAY_JOB)


def test_all_machines_have_the_same_image() -> None:
    texts = [(FOLDER / name).read_text() for name in ("ray_up.yaml", "ray_job.yaml")]
    images = {line.split()[-1] for text in texts for line in text.splitlines() if "image:" in line}
    assert len(images) == 1
    base = (FOLDER / "Dockerfile").read_text()
    assert f"FROM rayproject/ray:{ray.__version__}-" in base
