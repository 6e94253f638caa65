"""How the event of `mailfold doctor` is known: the command line makes it, operate finds and removes it."""

import re

#: To whom every probe was delivered: a domain that never exists (RFC 2606).
PROBE_ADDRESS = "doctor@mailfold.invalid"
#: What the raw of a probe holds, and nothing else does.
MARKER = re.compile(r"doctor-[0-9a-f]{32}")
