"""Columns of words: which words are values, which say unknown, which mean the same, which are likely mistakes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bomi.space import cells

_ELEMENTS = frozenset({
    "Li", "Na", "K", "Rb", "Cs", "Be", "Mg", "Ca", "Sr", "Ba", "B", "Al", "Ga", "In", "Tl", "C", "Si", "Ge", "Sn", "Pb",
    "N", "P", "As", "Sb", "Bi", "O", "S", "Se", "Te", "F", "Cl", "Br", "I", "H", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "U",
    "Co", "Ni", "Cu", "Zn", "Y", "Zr", "Nb", "Mo", "Ru", "Rh", "Pd", "Ag", "Cd", "Hf", "Ta", "W", "Re", "Os", "Ir",
    "Pt", "Au", "Hg", "La", "Ce", "Pr", "Nd", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb", "Lu", "Th",
})  # fmt: skip

BALANCE = frozenset({
    "bal", "bal.", "balance", "rem", "rem.", "remainder", "rest", "reste", "solde", "resto", "balanz",
})  # fmt: skip
VERDICTS = frozenset({
    "pass", "passed", "ok", "nok", "n.ok", "not ok", "ng", "io", "i.o.", "i. o.", "nio", "n.i.o.", "n. i. o.",
    "bestanden", "nicht bestanden", "conforme", "non conforme", "no conforme", "apto", "no apto", "aprobado",
    "aprovado", "reprovado", "accept", "accepted", "reject", "rejected", "合格", "不合格", "良", "不良",
    "goedgekeurd", "afgekeurd", "godkänd", "underkänd", "zgodny", "niezgodny", "uygun", "uygun değil",
    "vyhovuje", "nevyhovuje", "incl", "incl.", "excl", "excl.", "included", "excluded", "valid", "invalid", "gültig",
    "ungültig",
})  # fmt: skip
_REGIONS = frozenset({"EU", "US", "UK", "SA", "LATAM", "APAC", "EMEA", "ASIA", "CN", "JP", "IN", "AF", "ME", "OC"})


def plain_words(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The values among the texts of a column of words, and the words that say unknown.

    A word for unknown is a value where the column plainly holds such values: Na among other elements, - beside +.
    """
    distinct = {text for text in texts if text.strip()}
    sure = {text for text in distinct if not cells.is_unknown(text)}
    elements = {text.rstrip("+0123456789⁺") for text in sure}
    chemical = bool(sure) and all(element in _ELEMENTS or element in ("NH", "none", "None") for element in elements)
    regions = bool(sure) and sure <= _REGIONS
    values = sure | {text for text in distinct - sure if (chemical and text in _ELEMENTS)
                     or (text in ("-", "–") and "+" in sure) or (regions and text == "NA")}  # fmt: skip
    said = [text for text in texts if text in values]
    return said, sorted(text for text in distinct - values if text not in ("?",))


def merge_spellings(counts: Mapping[str, int]) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Words that differ by case, spaces or accents as one, in their commonest spelling; and the others of each."""
    groups: dict[str, list[str]] = {}
    for word in counts:
        groups.setdefault(cells.look(word), []).append(word)
    merged: dict[str, int] = {}
    alike = {}
    for spellings in groups.values():
        best = max(spellings, key=lambda word: counts[word])
        merged[best] = sum(counts[word] for word in spellings)
        if len(spellings) > 1:
            alike[best] = [word for word in spellings if word != best]
    return merged, alike


def likely_mistakes(counts: Mapping[str, int]) -> dict[str, str]:
    """Words that come once and are one letter away from a word that comes often, with that word.

    Words of chemistry that differ by a letter are different things: ethanol and methanol, nitrate and nitrite.
    """
    found = {}
    often = [word for word, count in counts.items() if count >= 2]
    for rare in (word for word, count in counts.items() if count == 1 and len(word) >= 4 and word.isalpha()):
        for word in often:
            if (
                word.isalpha()
                and _one_letter_apart(rare.casefold(), word.casefold())
                and not _both_chemical(rare, word)
            ):
                found[rare] = word
                break
    return found


def _one_letter_apart(one: str, other: str) -> bool:
    if len(one) == len(other):
        wrong = [i for i in range(len(one)) if one[i] != other[i]]
        swapped = len(wrong) == 2 and wrong[1] == wrong[0] + 1 and one[wrong[0]] == other[wrong[1]]
        return len(wrong) == 1 or (swapped and one[wrong[1]] == other[wrong[0]])
    short, long = sorted((one, other), key=len)
    return len(long) - len(short) == 1 and any(short == long[:i] + long[i + 1 :] for i in range(len(long)))


def _both_chemical(one: str, other: str) -> bool:
    ends = r"(?:ane|ene|yne|ine|one|ol|al|ate|ite|ide|yl|ase|ose)$"
    return re.search(ends, one.casefold()) is not None and re.search(ends, other.casefold()) is not None
