"""The secrets of all sources: one JSON object, source name -> list of secrets, newest first."""

from aws_cdk import RemovalPolicy, SecretValue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.checks import acknowledge

# CloudFormation writes the value again whenever this text changes, and would throw away what an operator has put there.
# So it is a constant and knows nothing of the sources; a source that is absent has no secrets yet.
INITIAL_VALUE = "{}"


class Secret(Construct):
    """The secret that an operator fills manually and the receive function reads."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.secret = secretsmanager.Secret(
            self,
            "Secret",
            description="Mailfold: webhook secrets by source, each a list, newest first",
            secret_string_value=SecretValue.unsafe_plain_text(INITIAL_VALUE),
            # The providers hold the other half of each secret: losing ours means new keys at every one of them.
            removal_policy=RemovalPolicy.RETAIN,
        )
        acknowledge(
            self.secret,
            {"AwsSolutions-SMG4": "The providers issue these secrets; the lists let old and new overlap manually."},
        )

    def grant_read(self, grantee: iam.IGrantable) -> None:
        """Allow reading the value; describing the secret is of no use to a reader."""
        iam.Grant.add_to_principal(
            grantee=grantee, actions=["secretsmanager:GetSecretValue"], resource_arns=[self.secret.secret_arn]
        )
