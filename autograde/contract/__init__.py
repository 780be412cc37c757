"""What the author of a lab writes against: checks, findings, schemas, the student's cell, variants."""
