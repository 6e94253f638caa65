"""Acknowledged findings of the template checks, each with its reason beside the resource it concerns."""

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, findings: Mapping[str, str]) -> None:
    """Accept findings on one construct: rule id -> why it is right here."""
    for rule, reason in findings.items():
        Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))
