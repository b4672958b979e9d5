"""campaign.toml and experiments.csv: read, check, append; never loses a cell it does not understand."""

from bomi.campaign.edits import Conflict, Edit, Removal, save_edits
from bomi.campaign.experiments import Experiments, Library, Summary, read_experiments, read_library, summarize
from bomi.campaign.faults import CampaignError, Fault
from bomi.campaign.guess import guess, place_for_guess, save_guess, write_guess
from bomi.campaign.guessed import Guess
from bomi.campaign.pending import Ledger, append, ledger, withdraw
from bomi.campaign.sheet import Sheet, read_sheet
from bomi.campaign.snapshot import Snapshot, take_snapshot
from bomi.campaign.toml import Campaign, campaign_path

__all__ = [
    "Campaign",
    "CampaignError",
    "Conflict",
    "Edit",
    "Experiments",
    "Fault",
    "Guess",
    "Ledger",
    "Library",
    "Removal",
    "Sheet",
    "Snapshot",
    "Summary",
    "append",
    "campaign_path",
    "guess",
    "ledger",
    "place_for_guess",
    "read_experiments",
    "read_library",
    "read_sheet",
    "save_edits",
    "save_guess",
    "summarize",
    "take_snapshot",
    "withdraw",
    "write_guess",
]
