"""campaign.toml and experiments.csv: read, check, append; never loses a cell it does not understand."""

from bomi.files.campaign import Campaign, campaign_path, guess
from bomi.files.experiments import Experiments, Ledger, append, ledger, read_experiments
from bomi.files.sheet import Sheet, read_sheet

__all__ = [
    "Campaign",
    "Experiments",
    "Ledger",
    "Sheet",
    "append",
    "campaign_path",
    "guess",
    "ledger",
    "read_experiments",
    "read_sheet",
]
