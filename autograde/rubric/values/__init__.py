"""A value beside what should be: numbers, texts, arrays, and how near they have to be."""
