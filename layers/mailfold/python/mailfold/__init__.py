"""Mailfold: email providers' event webhooks, folded into one correct state."""
