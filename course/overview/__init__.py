"""The course at a glance: its labs and lectures in order, and how far a student is with each."""
