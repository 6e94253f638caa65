"""The command line: asks the deployed functions, on AWS or on the local stack, and shows what they answer."""
