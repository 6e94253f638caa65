"""The claims of keyed sources: what the door answered to a key, while the provider may still ask again."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct


class Claims(Construct):
    """The DynamoDB table in the layout that Powertools idempotency expects."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="id", type=dynamodb.AttributeType.STRING),
            time_to_live_attribute="expiration",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            # Postgres decides what is new. A lost table costs recorded answers that expire anyway, not one event.
            removal_policy=RemovalPolicy.DESTROY,
        )

    def grant_claim(self, grantee: iam.IGrantable) -> None:
        """Allow the four calls that Powertools makes on a claim, and no scan or query."""
        self.table.grant(grantee, "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
