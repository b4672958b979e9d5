"""campaign.toml and experiments.csv: read, check, append; never loses a cell it does not understand."""

from bomi.files.campaign import Campaign, Guess, campaign_path, guess, write_guess
from bomi.files.edits import Conflict, Edit, Removal, save_edits
from bomi.files.experiments import Experiments, Ledger, Summary, append, ledger, read_experiments, summarize
from bomi.files.sheet import Sheet, read_sheet
from bomi.files.snapshot import Snapshot, take_snapshot

__all__ = [
    "Campaign",
    "Conflict",
    "Edit",
    "Experiments",
    "Guess",
    "Ledger",
    "Removal",
    "Sheet",
    "Snapshot",
    "Summary",
    "append",
    "campaign_path",
    "guess",
    "ledger",
    "read_experiments",
    "read_sheet",
    "save_edits",
    "summarize",
    "take_snapshot",
    "write_guess",
]
