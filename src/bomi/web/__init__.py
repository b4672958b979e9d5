"""The page: the whole loop in a browser on one's own machine. `serve` starts it.

Nothing in here is imported before `bomi web` is called, and torch never in the process that serves the page: what
computes runs in a process of its own (`worker`, `jobs`).
"""
