"""Set-up: what may vary and what is wanted, as a form or as the text of campaign.toml."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import ui

from bomi.campaign import CampaignError
from bomi.campaign.edits import replace_file
from bomi.campaign.faults import Fault
from bomi.campaign.outcome import UnsureError
from bomi.campaign.toml import from_document, parse_campaign, read_document
from bomi.errors import BomiError, Place
from bomi.web import theme
from bomi.web.desk import Session
from bomi.web.views import View
from bomi.web.views.outside import plain
from bomi.web.views.setup_body import FormBody
from bomi.web.views.setup_form import Form, FormError, document_of, form_of, fresh, read_setup, version, without
from bomi.web.views.typed import keep
from bomi.web.views.versions import offer_versions

MOST = 12  # answers that are offered
QUESTIONS = {
    "objective": "Which column is the outcome? It can be changed below.",
    "decimal": "Which mark stands before the decimals?",
}
KEY = "setup"  # under which it is kept while it is not saved


class SetupView(View):
    """The campaign of a session. What is typed is kept until it is saved or discarded."""

    def __init__(self, session: Session, go: Callable[[str], None]) -> None:
        super().__init__(session, go)
        self.state: dict[str, Any] = {}
        self.document: Mapping[str, Any] = {}
        self.body: FormBody | None = None  # None while the text is shown

    # --- what it starts from ---------------------------------------------------------------------------------------

    def build(self) -> None:
        """Draw the view."""
        snapshot = self.session.snapshot
        self.before = snapshot.toml
        kept = self.session.desk.texts.get(KEY)
        answers = kept.get("answers", {}) if isinstance(kept, Mapping) else {}
        self.document, guessed, broken = read_setup(snapshot, answers)
        self.state = copy.deepcopy(dict(kept)) if isinstance(kept, Mapping) else fresh(snapshot)
        self.document = without(self.document, self.state.get("without", ()))
        with theme.block("line between sticky"):
            with theme.block("stack tight title"):
                theme.heading("Set-up", 1)
                ui.label(f"What may vary, and what is wanted. Saved as {snapshot.campaign_path.name}.").classes("lead")
            with theme.block("line"):
                self.mode = ui.toggle(
                    {False: "Form", True: "Text"}, value=self.as_text, on_change=lambda e: self.switch(bool(e.value))
                ).props('no-caps unelevated aria-label="Form or text" role=group')
                self.unsaved = theme.block("dot").props('role=img aria-label="not saved yet"')
                self.undo_button = theme.round_button("undo", "Undo", self.undo)
                self.redo_button = theme.round_button("redo", "Do again", self.redo)
                theme.round_button("history", "Versions", self.versions)
                self.discard_button = theme.button("Discard", self.discard)
                self.save_button = theme.button("Save", self.save, icon="save", primary=True)
        if guessed and not self.dirty:
            theme.note(guessed, icon="lightbulb_outline")
        if self.dirty and self.state.get("of") != version(snapshot):
            name = snapshot.campaign_path.name
            theme.note(f"{name} was changed outside since you typed this; saving is refused until you look at it.")
        self.message = ui.element("div").classes("stack")
        self.place = ui.element("div").classes("stack").style("gap: 16px")
        self.draw()
        self.mark()
        if not self.dirty:
            if snapshot.campaign_faults:
                self.refuse(CampaignError(snapshot.campaign_fault, snapshot.campaign_faults))
            elif isinstance(broken, UnsureError):
                self.ask(broken, {})
            else:
                self.tell(plain(snapshot, str(broken or snapshot.campaign_fault)))

    def ask(self, unsure: UnsureError, answers: Mapping[str, str]) -> None:
        """What a first guess cannot tell by itself: a button for each answer there is, the likeliest first."""
        option = unsure.option.removeprefix("--")
        self.message.clear()
        with self.message, theme.note(QUESTIONS.get(option, str(unsure)), icon="help_outline"):
            for one in unsure.answers[:MOST]:
                theme.button(one, partial(self.answer, {**answers, option: one}))

    def answer(self, answers: dict[str, str]) -> None:
        """Guess again, now that something more is known."""
        self.document, guessed, broken = read_setup(self.session.snapshot, answers)
        if isinstance(broken, UnsureError):
            self.ask(broken, answers)
            return
        self.state["form"], self.state["answers"] = form_of(self.document), answers
        self.changed()
        self.tell(plain(self.session.snapshot, str(broken or "")))
        if guessed:
            with self.message:
                theme.note(guessed, icon="lightbulb_outline")
        self.draw()

    @property
    def as_text(self) -> bool:
        """Whether the text is shown."""
        return bool(self.state["as_text"])

    @property
    def form(self) -> Form:
        """What stands in the fields."""
        form: Form = self.state["form"]
        return form

    @property
    def dirty(self) -> bool:
        """Whether something is not saved."""
        return KEY in self.session.desk.texts

    def update(self) -> None:
        """Something changed: show the file if it is another one, or what was typed in another tab."""
        kept = self.session.desk.texts.get(KEY)
        if self.session.snapshot.toml != self.before or ((kept or self.dirty_before) and kept != self.state):
            self.go("setup")

    dirty_before = False  # whether something was not saved when it was looked at last

    def mark(self) -> None:
        """Show whether something is not saved."""
        self.dirty_before = self.dirty
        self.unsaved.set_visibility(self.dirty)
        self.discard_button.set_visibility(self.dirty)
        steps = self.session.desk.setup_steps
        self.undo_button.set_enabled(bool(steps.past))
        self.redo_button.set_enabled(bool(steps.future))

    def changed(self, key: str = "", text: Any = None) -> None:
        """Something was typed: keep it."""
        if key:
            self.session.received(key, text)
        self.session.desk.setup_steps.record(self.session.desk.texts.get(KEY), key)
        self.session.desk.keep(KEY, copy.deepcopy(self.state))
        self.mark()
        self.session.desk.tell(but=self.session)
        if key.endswith(("/name", "/kind", "/values")) and self.body is not None:
            self.body.fit()

    def discard(self) -> None:
        """Forget what was typed, once that is said."""

        def forget() -> None:
            self.session.desk.setup_steps.record(self.session.desk.texts.get(KEY))
            self.put(None)

        name = self.session.snapshot.campaign_path.name
        text = f"The form is as {name} again. You can undo this as long as nothing is saved."
        theme.ask("Discard what you typed?", text, "Discard it", forget, no="Keep")

    def put(self, kept: Any) -> None:
        """Another state; None is the file as it is."""
        self.session.desk.keep(KEY, kept)
        self.session.desk.tell(but=self.session)
        self.go("setup")

    def undo(self, told: Any = None) -> None:
        """One step back."""
        desk = self.session.desk
        if desk.setup_steps.past:
            self.put(desk.setup_steps.back(desk.texts.get(KEY)))

    def redo(self, told: Any = None) -> None:
        """One step forward again."""
        desk = self.session.desk
        if desk.setup_steps.future:
            self.put(desk.setup_steps.forward(desk.texts.get(KEY)))

    def versions(self) -> None:
        """The version before the last save, to be had again."""
        path = self.session.snapshot.campaign_path
        offer_versions(self.session, path, self.before, lambda content: _in_short(path, content))

    def draw(self) -> None:
        """The form or the text."""
        self.place.clear()
        self.body = None
        with self.place:
            if self.as_text:
                self.text_editor()
            else:
                answers = self.state.get("answers", {})
                self.body = FormBody(self.session, self.document, self.form, answers, self.changed, self.draw)
                self.body.build()

    def switch(self, as_text: bool) -> None:
        """Between form and text; what was typed goes along, if it makes sense."""
        if as_text == self.as_text:
            return
        path, was_dirty = self.session.snapshot.campaign_path, self.dirty
        try:
            if (as_text and was_dirty) or (as_text and self.before is None):
                self.state["text"] = from_document(path, document_of(self.form, self.document)).text()
            elif not as_text:
                content = str(self.state["text"]).encode()
                parse_campaign(path, content)
                self.document = read_document(path, content)
                self.state["form"] = form_of(self.document)
        except BomiError as error:
            self.refuse(error)
            self.mode.value = self.as_text
            return
        self.state["as_text"] = as_text
        if was_dirty:
            self.changed()
        self.tell("")
        self.draw()

    # --- text ------------------------------------------------------------------------------------------------------

    def text_editor(self) -> None:
        """campaign.toml as it is, comments included."""

        def put(text: str) -> None:
            if text != self.state["text"]:
                self.state["text"] = text
                self.changed("setup/text", text)

        editor = ui.codemirror(str(self.state["text"]), language="TOML", on_change=lambda event: put(event.value))
        keep(editor, self.session, "setup/text")
        editor.style("height: 60vh; border: 1px solid var(--line); border-radius: 10px; overflow: hidden; width: 100%")
        ui.run_javascript(
            "setTimeout(() => document.querySelector('.cm-content')?.setAttribute('aria-label', 'campaign.toml'), 300)"
        )

    # --- saving ----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        """Check it, then write it."""
        path = self.session.snapshot.campaign_path
        try:
            replace_file(path, self.content(), expected=self.before)
        except BomiError as error:
            self.refuse(error)
            return
        self.session.desk.keep(KEY, None)
        self.session.desk.setup_steps.clear()
        self.session.say(f"Saved as {path.name}")
        self.session.refresh()
        self.session.desk.tell(but=self.session)
        self.go("setup")

    def content(self) -> bytes:
        """The file that was typed; an error if it makes no sense."""
        path = self.session.snapshot.campaign_path
        if not self.as_text:
            return from_document(path, document_of(self.form, self.document)).text().encode()
        content = str(self.state["text"] or "").encode()
        parse_campaign(path, content)
        return content

    def tell(self, text: str, spare: Sequence[Fault] = ()) -> None:
        """What is wrong, or nothing; a button for each key that can go."""
        self.message.clear()
        if text:
            with self.message, theme.note(text, bad=True):
                for fault in spare:
                    place = fault.places[0]
                    where = f" from [{fault.section}]" if fault.section else ""
                    theme.button(f"Remove {place[-1]}{where}", partial(self.let_go, place))

    def refuse(self, error: BomiError) -> None:
        """What is wrong, at its fields as far as it has some."""
        faults = error.faults if isinstance(error, CampaignError) else ()
        if self.body is not None and isinstance(error, CampaignError | FormError):
            left = self.body.refuse(error)
            text = "\n".join(left) or "Something is not right yet; see what is marked below."
            self.tell(text, [fault for fault in faults if fault.unknown])
            return
        self.tell("\n".join(map(str, faults)) or str(error))

    def let_go(self, place: Place) -> None:
        """A key that means nothing goes, once it is saved."""
        self.state["without"] = [*self.state.get("without", ()), list(place)]
        self.document = without(self.document, [place])
        self.changed()
        self.draw()
        try:
            self.content()
        except BomiError as error:
            self.refuse(error)
        else:
            self.tell("")


def _in_short(path: Path, content: bytes) -> str:
    """What a campaign is about."""
    campaign = parse_campaign(path, content)
    return f"{theme.count(len(campaign.space), 'parameter')}, {campaign.wish}"
