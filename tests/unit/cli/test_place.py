"""Which stack a command is for, and what reaches it."""

import io
import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from cli.errors import CommandError
from cli.place import Place, aws_place, is_local, local_place


class FakeLambda:
    """One function that answers as told."""

    def __init__(self, answer: Any, **more: str) -> None:
        self.answer = answer
        self.more = more
        self.calls: list[tuple[str, Any]] = []

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        self.calls.append((FunctionName, json.loads(Payload)))
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"Payload": io.BytesIO(json.dumps(self.answer).encode()), **self.more}


def place(function: FakeLambda, **outputs: str) -> Place:
    return Place(client=lambda service: function, outputs={"OperateFunctionName": "operate-1", **outputs}, by="ann")


@pytest.mark.parametrize(
    ("profile", "variable", "local"),
    [(None, None, True), (None, "", True), ("prod", None, False), (None, "prod", False), ("prod", "", False)],
)
def test_it_is_the_local_stack_unless_a_profile_is_named(
    monkeypatch: pytest.MonkeyPatch, profile: str | None, variable: str | None, local: bool
) -> None:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    if variable is not None:
        monkeypatch.setenv("AWS_PROFILE", variable)

    assert is_local(profile) is local


def test_without_a_local_stack_both_ways_are_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"start one with `make run`\. For a stack on AWS .* --profile NAME") as told:
        local_place(tmp_path / "nowhere")

    assert told.value.code == 2


def test_a_profile_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))

    with pytest.raises(CommandError, match=r"^AWS cannot be reached: .*nobody.*$") as told:
        aws_place(profile="nobody", region=None, stack="Mailfold")

    assert told.value.code == 2


class FakeSession:
    """An account with one stack; keeps how each of its clients was made."""

    def __init__(self, **options: Any) -> None:
        self.configs: dict[str, Any] = {}

    def client(self, service: str, config: Any) -> Any:
        self.configs[service] = config
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:iam::111122223333:user/ann"}

    def describe_stacks(self, *, StackName: str) -> dict[str, Any]:  # noqa: N803
        if StackName != "Other":
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        outputs = [{"OutputKey": "WebhookUrlMain", "OutputValue": "https://example.org/webhooks/main"}]
        return {"Stacks": [{"Outputs": outputs}]}


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    session = FakeSession()
    monkeypatch.setattr(boto3, "Session", lambda **options: session)
    return session


def test_a_stack_on_aws_is_asked_in_the_name_of_the_caller(account: FakeSession) -> None:
    found = aws_place(profile=None, region=None, stack="Other")

    assert found.by == "arn:aws:iam::111122223333:user/ann"
    assert (found.base_url, found.stack) == ("https://example.org", "Other")
    with pytest.raises(CommandError, match="the stack Mailfold cannot be described"):
        aws_place(profile=None, region=None, stack="Mailfold")


def test_an_order_is_never_sent_twice_by_itself(account: FakeSession) -> None:
    found = aws_place(profile=None, region=None, stack="Other")

    found.aws("lambda")
    found.aws("sqs")

    assert account.configs["lambda"].retries["total_max_attempts"] == 1
    assert account.configs["lambda"].read_timeout > 60
    assert account.configs["sqs"].retries["total_max_attempts"] > 1


def test_an_order_names_who_gives_it_and_leaves_out_what_was_not_given() -> None:
    function = FakeLambda({"ok": True, "result": {"done": 1}})

    assert place(function).order("totals", days=3, source=None) == {"done": 1}

    order = {"command": "totals", "arguments": {"days": 3}, "by": "ann"}
    assert function.calls == [("operate-1", order)]


@pytest.mark.parametrize(
    ("function", "code", "sentence"),
    [
        (FakeLambda({"ok": False, "error": "no such message"}), 3, "no such message"),
        (FakeLambda({"errorMessage": "boom"}, FunctionError="Unhandled"), 2, "operate failed: boom"),
        (
            FakeLambda(ClientError({"Error": {"Code": "AccessDeniedException"}}, "Invoke")),
            2,
            "operate could not be called: An error occurred (AccessDeniedException)",
        ),
    ],
)
def test_a_refusal_is_told_with_its_code(function: FakeLambda, code: int, sentence: str) -> None:
    with pytest.raises(CommandError) as told:
        place(function).order("totals")

    assert told.value.code == code
    assert str(told.value).startswith(sentence)


def test_an_older_stack_is_told_so() -> None:
    with pytest.raises(CommandError, match=r"no output TopicArn: is it an older version\? Deploy it again\."):
        place(FakeLambda({})).output("TopicArn")


def test_a_stack_without_a_door_has_no_address() -> None:
    with pytest.raises(CommandError, match="no source that comes over HTTP"):
        _ = place(FakeLambda({})).base_url
