# ---
# jupyter:
#   jupytext:
#     formats: py:percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 14 Where does the time go?
#
# After this lab you can
#
# - count the operations of a training step, before anything is measured,
# - say of each [rank](GLOSSARY.md#rank)'s time how much goes into computing, how much into communication that is
#   [hidden](GLOSSARY.md#overlap) behind it, how much into communication that is not, and how much into neither,
# - find the rank that all others wait for, although no two ranks' clocks agree.
#
# The idea in one sentence: **a step takes as long as its slowest chain of work, so look for where a rank waits, and
# whom it waits for, before you change anything.**
#
# **Before you start.** You need the [all-reduce](GLOSSARY.md#all-reduce) of lab 03 and the
# [overlap](GLOSSARY.md#overlap) of lab 09. From Python: lists, dicts, sorting.
#
# **Time:** 90 to 120 minutes.
#
# Run the cells from top to bottom. Where a cell says `# YOUR CODE HERE`, replace that line and the one below it with
# your code and run the cell. The next cell runs your code and tells you what it saw. Check as often as you like:
# nothing can break, even if your code hangs. Grading runs the same check on new numbers.
#
# Stuck? Below each check that has not passed yet, you can read how to unfold a hint. There are three for each TODO.
# They cost no points; your instructor sees how many are used.
#
# **Only the cell with your code is handed in and run: import in it what it uses.**
#
# Some cells are folded, as the next one is: what is in them is not what the lab is about. Run them like all others.

# %% folded=true
# Imports for the given cells: nothing to learn here.
from autograde.notebook import Checker, needs
from course.world import World

# %% [markdown]
# This cell starts the [world](GLOSSARY.md#world), which is four ranks that will run your code, and loads the checks:

# %%
world = World(4)
check = Checker("checks", world)

# %% [markdown]
# ## 1. What a step has to compute

# %% [markdown]
# ## 2. What is hidden, and what is not

# %% [markdown]
# ## 3. Who is late?

# %% [markdown]
# ## 4.

# %% [markdown]
# ## 5.

# %% [markdown]
# ## 6.

# %% [markdown]
# ## What comes next
#
# ## Two questions
#
# They count no points. The first answer is a number: write it in place of `None`, and run the cell to hear whether it
# is right. (The key is in `questions.toml`, next to this notebook. Find your own number first.) The second answer is a
# text: double-click the cell, write a few sentences, and run it. Your instructor reads it. Both are handed in.
