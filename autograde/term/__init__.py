"""What a term asks for beyond one lab's grading: marks for the university, a report over all labs, extensions."""
