"""campaign.toml and experiments.csv: read, check, append; never loses a cell it does not understand."""

from bomi.files.campaign import Campaign, Guess, campaign_path, guess, write_guess
from bomi.files.experiments import Experiments, Ledger, Summary, append, ledger, read_experiments, summarize
from bomi.files.sheet import Sheet, read_sheet

__all__ = [
    "Campaign",
    "Experiments",
    "Guess",
    "Ledger",
    "Sheet",
    "Summary",
    "append",
    "campaign_path",
    "guess",
    "ledger",
    "read_experiments",
    "read_sheet",
    "summarize",
    "write_guess",
]
