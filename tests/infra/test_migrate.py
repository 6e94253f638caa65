"""migrate: runs in the deploy, after the database and before its users, and again whenever a migration is added."""

import shutil
from pathlib import Path

import pytest

from infra import layers
from tests.infra.template import ROOT, Synthesised, synthesise


def handler_version(stack: Synthesised) -> str:
    _, trigger = stack.only("Custom::Trigger")
    return trigger["HandlerArn"]["Ref"]


def depends_on(stack: Synthesised, name: str) -> set[str]:
    return set(stack.resources[name].get("DependsOn", []))


def test_the_deploy_waits_for_migrate_and_fails_with_it(stack: Synthesised) -> None:
    function, properties = stack.function("migrate")
    _, trigger = stack.only("Custom::Trigger")

    assert trigger["InvocationType"] == "RequestResponse"
    assert stack.resources[handler_version(stack)]["Properties"]["FunctionName"] == {"Ref": function}
    assert int(trigger["Timeout"]) > properties["Timeout"] * 1000


def test_it_runs_once_the_database_can_be_reached(stack: Synthesised) -> None:
    name, _ = stack.only("Custom::Trigger")
    group = stack.function("migrate")[1]["VpcConfig"]["SecurityGroupIds"][0]
    ways = {
        rule
        for kind, end in (("Ingress", "SourceSecurityGroupId"), ("Egress", "GroupId"))
        for rule, it in stack.all(f"AWS::EC2::SecurityGroup{kind}").items()
        if it[end] == group
    }

    assert len(ways) == 2
    assert ways | {stack.only("AWS::RDS::DBInstance")[0]} <= depends_on(stack, name)


def test_nothing_uses_the_database_before_it_has_run(stack: Synthesised) -> None:
    trigger, _ = stack.only("Custom::Trigger")

    for user in (
        stack.function("process")[0],
        stack.function("prune")[0],
        stack.only("AWS::Lambda::EventSourceMapping")[0],
    ):
        assert trigger in depends_on(stack, user)


def test_a_new_migration_runs_it_again(stack: Synthesised, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    junk = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "layers/mailfold", tmp_path / "layers/mailfold", ignore=junk)
    monkeypatch.setattr(layers, "ROOT", tmp_path)
    same = synthesise(tmp_path / "same")
    (tmp_path / "layers/mailfold/python/mailfold/store/migrations/9999_next.sql").write_text("select 1;\n")
    next_one = synthesise(tmp_path / "next")

    assert handler_version(same) == handler_version(stack)
    assert handler_version(next_one) != handler_version(stack)


def test_the_caller_may_only_call_migrate_and_write_its_own_log(stack: Synthesised) -> None:
    _, trigger = stack.only("Custom::Trigger")
    caller = stack.resources[trigger["ServiceToken"]["Fn::GetAtt"][0]]["Properties"]
    function, _ = stack.function("migrate")

    statements = stack.statements(caller["Role"]["Fn::GetAtt"][0])

    log = caller["LoggingConfig"]["LogGroup"]["Ref"]
    assert [(it["Action"], it["Resource"]) for it in statements] == [
        (["lambda:InvokeFunction"], [{"Fn::Join": ["", [{"Fn::GetAtt": [function, "Arn"]}, ":*"]]}]),
        (["logs:CreateLogStream", "logs:PutLogEvents"], {"Fn::GetAtt": [log, "Arn"]}),
    ]
