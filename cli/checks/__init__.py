"""What doctor looks at: one file for each part of a stack, one table of them all in cli/doctor.py."""
