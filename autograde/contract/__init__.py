"""What the author of a lab writes against: checks, findings, schemas, the student's cell, variants."""

import course  # noqa: F401, it sees to it that files beside the notebook do not hide libraries
