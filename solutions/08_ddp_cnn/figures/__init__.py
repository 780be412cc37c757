"""Pictures that only this lab draws."""
