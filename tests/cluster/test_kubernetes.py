"""The Kubernetes objects: as the schemas have them, and as closed as the README says."""

import pytest
from kubernetes_models import model, problems
from manifests import HOME, RAY_VERSION, objects, pod_templates, ray_spec

MODELS = {
    "NetworkPolicy": ("networking_v1", "NetworkPolicy"),
    "Service": ("core_v1", "Service"),
    "StatefulSet": ("apps_v1", "StatefulSet"),
}
# The fields of KubeRay's own types (ray.io/v1, KubeRay 1.6) that are in use, with their types.
RAY_CLUSTER = {
    "rayVersion": str, "authOptions": dict, "gcsFaultToleranceOptions": dict, "headGroupSpec": dict,
    "workerGroupSpecs": list,
}  # fmt: skip
RAY_JOB = {
    "entrypoint": str, "entrypointNumCpus": int, "submissionMode": str, "backoffLimit": int,
    "shutdownAfterJobFinishes": bool, "ttlSecondsAfterFinished": int, "submitterPodTemplate": dict,
    "rayClusterSpec": dict,
}  # fmt: skip
HEAD = {"rayStartParams": dict, "template": dict}
GROUP = HEAD | {"groupName": str, "replicas": int, "minReplicas": int, "maxReplicas": int}
REDIS = {"redisAddress": str, "redisPassword": dict}


def fits(value, types):
    assert value.keys() <= types.keys()
    for name, item in value.items():
        assert type(item) is types[name], name


def test_every_plain_object_fits_its_schema():
    plain = [one for one in objects() if one["apiVersion"] != "ray.io/v1"]
    assert len(plain) >= 4
    for one in plain:
        assert not list(problems(one, model(*MODELS[one["kind"]]), one["kind"]))


@pytest.mark.parametrize(("name", "template"), list(pod_templates()), ids=lambda v: str(v)[:20])
def test_every_pod_template_fits_its_schema(name, template):
    assert not list(problems(template, model("core_v1", "PodTemplateSpec"), name))


def test_the_schemas_refuse_what_is_wrong():
    template = {"spec": {"containers": [{"image": "x", "ports": [{"containerPort": "80"}]}]}}
    template["spec"]["hostPet"] = True
    found = " ".join(problems(template, model("core_v1", "PodTemplateSpec"), "pod"))
    for part in ("hostPet is no field", "name is missing", "containerPort is '80'"):
        assert part in found


def test_ray_objects_have_the_fields_of_kuberay():
    for one in objects("raycluster.yaml", "rayjob.yaml"):
        assert one["apiVersion"] == "ray.io/v1"
    (job,) = objects("rayjob.yaml")
    fits(job["spec"], RAY_JOB)
    for kind in ("RayCluster", "RayJob"):
        spec = ray_spec(kind)
        fits(spec, RAY_CLUSTER)
        fits(spec["headGroupSpec"], HEAD)
        fits(spec["gcsFaultToleranceOptions"], REDIS)
        assert spec["authOptions"] == {"mode": "token", "secretName": "distsvm-token"}
        for group in spec["workerGroupSpecs"]:
            fits(group, GROUP)
            params = [*group["rayStartParams"].values(), *spec["headGroupSpec"]["rayStartParams"]]
            assert all(isinstance(value, str) for value in params)


def test_the_cluster_of_the_job_is_that_of_the_cluster():
    assert ray_spec("RayJob") == ray_spec("RayCluster")


def test_the_head_takes_no_workers():
    assert ray_spec("RayCluster")["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"


@pytest.mark.parametrize(("name", "template"), list(pod_templates()), ids=lambda v: str(v)[:20])
def test_every_pod_is_limited_and_without_privileges(name, template):
    pod = template["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        limits = container["resources"]["limits"]
        assert set(limits) == set(container["resources"]["requests"]) == {"cpu", "memory"}
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert ":" in container["image"]
        assert not container["image"].endswith(":latest")


def test_every_ray_container_has_token_auth_from_the_secret():
    for name, template in pod_templates():
        if not name.startswith("Ray"):
            continue
        (container,) = template["spec"]["containers"]
        env = {one["name"]: one for one in container["env"]}
        assert env["RAY_AUTH_MODE"]["value"] == "token", name
        secret = env["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"]
        assert secret == {"name": "distsvm-token", "key": "auth_token"}
        assert container["image"].endswith(f"-ray{RAY_VERSION}")


def test_no_file_holds_a_secret():
    assert all(one["kind"] != "Secret" for one in objects())
    for _, template in pod_templates():
        for container in template["spec"]["containers"]:
            for one in container.get("env", []):
                assert "value" not in one or one["name"] == "RAY_AUTH_MODE"


def test_policies_select_the_pods_and_close_both_directions():
    policies = [one for one in objects() if one["kind"] == "NetworkPolicy"]
    labels = [template["metadata"]["labels"] for _, template in pod_templates()]
    selected = [one["spec"]["podSelector"]["matchLabels"] for one in policies]
    for own in labels:
        if "distsvm-client" not in own:  # the submitter talks, and is not talked to
            assert any(wanted.items() <= own.items() for wanted in selected)
    for one in policies:
        assert set(one["spec"]["policyTypes"]) == {"Ingress", "Egress"}
        for rule in one["spec"]["ingress"]:
            assert rule["from"]  # an empty one would be everybody
    for rule in policies[0]["spec"]["egress"]:
        assert rule["to"]


def test_the_ray_version_is_the_same_everywhere():
    texts = [path.read_text() for path in sorted(HOME.rglob("*")) if path.is_file()]
    assert any(f"RAY_VERSION={RAY_VERSION}" in text for text in texts)
    for text in texts:
        assert text.count("-ray2.") == text.count(f"-ray{RAY_VERSION}")
        assert text.count('rayVersion: "') == text.count(f'rayVersion: "{RAY_VERSION}"')
