"""The review application: its addresses, and what each does."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

from twinset.errors import OptionError, VerdictChangedError
from twinset.verdicts import VerdictStore
from twinset.verdicts.events import check_name
from twinset.web.answers import Refused, new_app
from twinset.web.framework import FastAPI, RedirectResponse, Request, Response
from twinset.web.pages import Pages, add_static_files
from twinset.web.review import forms
from twinset.web.review.choice import OF_SCORES, ORDERS, ROWS, STATES, ListChoice
from twinset.web.review.data import ReviewData
from twinset.web.review.judging import Judging, Verdict
from twinset.web.review.ledger import Ledger
from twinset.web.review.sampling import Sampling
from twinset.web.review.views import LABELS, PairPlace, ReviewViews, Viewer
from twinset.web.tokens import WRITE

PART = "x-part"
"""The header with which the script asks for a part of a page: ``detail`` or ``list``."""


class ReviewPages:
    """The pages of a review.

    Parameters
    ----------
    data
        The result.
    store
        The file of verdicts.
    who
        The name under which verdicts are stored, unless a browser has another one.
    blind
        Hide all scores, for everybody.
    """

    def __init__(self, data: ReviewData, store: VerdictStore, who: str, blind: bool) -> None:
        self.data, self.store, self.who, self.blind = data, store, who, blind
        self.ledger = Ledger(data, store)
        self.views = ReviewViews(data, self.ledger)
        self.judging = Judging(self.views, store)
        self.sampling = Sampling(data, self.ledger)
        self.pages = Pages(Path(__file__).parent)
        self.first = next(iter(data.views))

    def app(self) -> FastAPI:
        """Make the application."""
        app = new_app("Twinset review", "Clusters and pairs to decide on.")
        for path, page in (
            ("/", self.start), ("/sample", self.sample), ("/conflicts", self.conflicts),
            ("/pictures/{place}", self.picture),
        ):  # fmt: skip
            app.add_api_route(path, page, methods=["GET"])
        for path, action in (
            ("/verdicts", self.judge), ("/statements", self.state), ("/undo", self.undo), ("/redo", self.redo),
            ("/name", self.name), ("/look", self.look), ("/sample", self.draw),
        ):  # fmt: skip
            app.add_api_route(path, action, methods=["POST"])
        add_static_files(app, Path(__file__).parent)
        app.add_api_route("/{name}", self.list_page, methods=["GET"])
        app.add_api_route("/{name}/{item}", self.item_page, methods=["GET"])
        return app

    # Pages

    def start(self) -> Response:
        """Lead to the first list."""
        return RedirectResponse(f"/{self.first}", 303)

    def list_page(self, request: Request, name: str) -> Response:
        """A list, with its first item beside it."""
        self._check_list(name)
        self.ledger.refresh()
        choice = ListChoice.of(request.query_params)
        viewer = self._viewer(request, choice)
        choice = self._unseen(choice, viewer)
        if request.headers.get(PART) == "list":
            return self._page(request, "parts/list.html", name, list=self.views.rows(name, choice, viewer, None))
        view = self.views.view(name)
        chosen = view.select(choice)
        place = None
        if len(chosen):
            item = int(chosen[min((choice.page - 1) * ROWS, len(chosen) - 1)])
            place = PairPlace(view.items, item, view.first_undecided(item), choice)
        return self._browse(request, name, choice, place, viewer, explicit=False)

    def item_page(self, request: Request, name: str, item: int) -> Response:
        """A pair of an item, with the list beside it."""
        self._check_list(name)
        self.ledger.refresh()
        choice = ListChoice.of(request.query_params)
        viewer = self._viewer(request, choice)
        choice = self._unseen(choice, viewer)
        place = self._place(name, item, request.query_params.get("pair"), choice)
        whole = request.query_params.get("whole") == "1"
        return self._shown(request, replace(place, whole=whole), viewer)

    def conflicts(self, request: Request) -> Response:
        """All conflicts, each with the statements that cannot all be true."""
        seen = self.ledger.refresh()
        found = [self.views.conflict(one) for one in self.ledger.conflicts()]
        return self._page(request, "conflicts.html", "conflicts", found=found, seen=seen, here="/conflicts")

    def sample(self, request: Request) -> Response:
        """Draw a sample, label it, and see the precision that follows."""
        self._check_list("pairs")
        self.ledger.refresh()
        shown = self.sampling.page(request.query_params.get("sample"), request.query_params.get("precision", ""))
        return self._page(request, "sample.html", "sample", here="/sample", **shown)

    def picture(self, place: int) -> Response:
        """A small copy of a picture, by the place of its document."""
        try:
            picture = self.data.picture(place)
        except OptionError as error:
            raise Refused(404, "not_found", str(error)) from error
        return Response(picture.jpeg, media_type="image/jpeg")

    # Actions

    async def judge(self, request: Request) -> Response:
        """Store a verdict, and show what comes next."""
        fields = await forms.read_form(request)
        return await asyncio.to_thread(self._judge, request, fields)

    def _judge(self, request: Request, fields: dict[str, str]) -> Response:
        choice = ListChoice.of(forms.parse_fields(fields.get("choice", "")))
        viewer = self._viewer(request, choice)
        self._check_list(fields.get("list", ""))
        place = self._place(fields["list"], forms.whole(fields, "item"), fields.get("pair"), choice)
        side = request.query_params.get("side") or fields.get("side", "right")
        verdict = Verdict(fields.get("verdict", ""), side, fields.get("note", ""), forms.whole(fields, "seen"))
        goes_on = fields.get("on") == "1"
        try:
            self.judging.store(place, verdict, viewer.who)
        except VerdictChangedError as changed:
            self.ledger.refresh()
            question = {"message": str(changed), "verdict": verdict, "word": verdict.word, "on": goes_on}
            return self._shown(request, place, viewer, status=409, question=question)
        self.ledger.refresh()
        after = self.judging.next_place(place, verdict) if goes_on else place
        return self._moved(request, place, after, viewer, f"Stored: {verdict.word}.")

    async def state(self, request: Request) -> Response:
        """Change a statement of a conflict."""
        fields = await forms.read_form(request)
        viewer = self._viewer(request)
        back = forms.local(fields.get("back", "/conflicts"))
        try:
            await asyncio.to_thread(self.judging.restate, fields, viewer.who)
        except VerdictChangedError as changed:
            raise Refused(409, "changed", str(changed)) from changed
        return RedirectResponse(back, 303)

    async def draw(self, request: Request) -> Response:
        """Draw a sample, and lead to it."""
        self._check_list("pairs")
        fields = await forms.read_form(request)
        await asyncio.to_thread(self.sampling.draw, fields, self._viewer(request).who)
        return RedirectResponse("/sample", 303)

    async def undo(self, request: Request) -> Response:
        """Take back the last step of this person."""
        return await self._turn(request, self.judging.undo, "Undone")

    async def redo(self, request: Request) -> Response:
        """Put back the step that was undone last."""
        return await self._turn(request, self.judging.redo, "Done again")

    async def _turn(self, request: Request, turn: Any, word: str) -> Response:
        fields = await forms.read_form(request)

        def act() -> Response:
            choice = ListChoice.of(forms.parse_fields(fields.get("choice", "")))
            viewer = self._viewer(request, choice)
            self._check_list(fields.get("list", ""))
            place = self._place(fields["list"], forms.whole(fields, "item"), fields.get("pair"), choice)
            subjects = turn(viewer.who)
            self.ledger.refresh()
            if not subjects:
                message = f"There is nothing of {viewer.who} to be {word.lower()}."
                return self._moved(request, place, place, viewer, message)
            pairs = [pair for one in subjects if (pair := self.ledger.pair_of(place.items, one)) is not None]
            after = place
            if pairs and place.pair not in pairs:
                after = PairPlace(place.items, int(place.items.item_of[pairs[0]]), pairs[0], choice)
            return self._moved(request, place, after, viewer, f"{word}.")

        return await asyncio.to_thread(act)

    async def name(self, request: Request) -> Response:
        """Store the name of the person in the browser."""
        fields = await forms.read_form(request)
        answer = RedirectResponse(forms.local(fields.get("back", "/")), 303)
        forms.keep_name(answer, check_name(fields.get("who", "")))
        return answer

    async def look(self, request: Request) -> Response:
        """Hide or show scores in this browser."""
        fields = await forms.read_form(request)
        answer = RedirectResponse(forms.local(fields.get("back", "/")), 303)
        forms.keep_blind(answer, fields.get("blind") == "1")
        return answer

    # What pages share

    def _viewer(self, request: Request, choice: ListChoice | None = None) -> Viewer:
        """Who asks; the scores of a sample are always hidden, so that they do not influence its labels."""
        state = request.scope["state"]
        default = state.get("user") or ""
        who = forms.name_of(request, self.who if default in ("", "token") else default)
        blind = self.blind or request.cookies.get(forms.BLIND_COOKIE) == "1"
        blind = blind or (choice is not None and choice.sample is not None)
        return Viewer(who, blind, state.get("right") == WRITE)

    def _unseen(self, choice: ListChoice, viewer: Viewer) -> ListChoice:
        """Drop what would show something of hidden scores."""
        return choice.without_scores() if viewer.blind else choice

    def _check_list(self, name: str) -> None:
        if name not in self.data.views:
            raise Refused(404, "not_found", "there is no such page")

    def _place(self, name: str, item: int, pair: str | None, choice: ListChoice) -> PairPlace:
        view = self.views.view(name)
        if not 0 <= item < len(view.items):
            raise Refused(404, "not_found", f"the list has no item {item}")
        pairs = view.items.pairs_of(item)
        if pair is None or view.items.single:
            return PairPlace(view.items, item, view.first_undecided(item), choice)
        number = forms.whole({"pair": pair}, "pair")
        if number not in pairs:
            raise Refused(404, "not_found", f"the item has no pair {number}")
        return PairPlace(view.items, item, number, choice)

    def _moved(self, request: Request, before: PairPlace, place: PairPlace, viewer: Viewer, message: str) -> Response:
        """Lead from a place that has changed to another: as a part for the script, else by an address."""
        if request.headers.get(PART) != "detail":
            return RedirectResponse(place.here, 303)
        answer = self._shown(request, place, viewer, before=before)
        answer.headers["x-message"] = message.encode("ascii", "replace").decode()
        return answer

    def _shown(
        self, request: Request, place: PairPlace, viewer: Viewer, *, status: int = 200, before: PairPlace | None = None,
        question: dict[str, Any] | None = None,
    ) -> Response:  # fmt: skip
        """Show a pair: the part for the script, with the rows that have changed, else the whole page."""
        if request.headers.get(PART) != "detail":
            return self._browse(
                request, place.items.name, place.choice, place, viewer, explicit=True, status=status, question=question
            )
        chosen = self.views.view(place.items.name).select(place.choice)
        detail = self.views.detail(place, viewer, chosen)
        changed = {one.item: one for one in (before, place) if one is not None}
        rows = [
            self.views.row(one.items, one.choice, one.item, viewer, one.item == place.item) for one in changed.values()
        ]
        answer = self._page(
            request, "parts/detail.html", place.items.name, status=status, detail=detail, question=question, rows=rows,
            choice=place.choice, progress=self.views.progress(place.items.name),
        )  # fmt: skip
        answer.headers["x-location"] = place.here
        return answer

    def _browse(
        self, request: Request, name: str, choice: ListChoice, place: PairPlace | None, viewer: Viewer, *,
        explicit: bool, status: int = 200, question: dict[str, Any] | None = None,
    ) -> Response:  # fmt: skip
        """A list with a pair of one of its items beside it."""
        view = self.views.view(name)
        chosen = view.select(choice)
        detail = None if place is None else self.views.detail(place, viewer, chosen)
        if detail is not None and explicit:
            choice = replace(choice, page=detail["list_page"])
        return self._page(
            request, "browse.html", name, status=status, choice=choice, question=question, explicit=explicit,
            list=self.views.rows(name, choice, viewer, None if place is None else place.item), detail=detail,
            rows=(), states=STATES, orders=self._orders(name, viewer), here=f"/{name}" if place is None else place.here,
            progress=self.views.progress(name),
        )  # fmt: skip

    def _orders(self, name: str, viewer: Viewer) -> dict[str, str]:
        items = self.views.view(name).items
        return {
            key: word for key, word in ORDERS.items()
            if not (key == "size" and items.single) and not (key == "loss" and items.loss is None)
            and not (viewer.blind and key in OF_SCORES)
            and not (key == "near" and name == "passages")
        }  # fmt: skip

    def _page(self, request: Request, template: str, current: str, *, status: int = 200, **values: Any) -> Response:
        """A page, or a part of one."""
        viewer = self._viewer(request, values.get("choice"))
        shared = {
            "title": self.data.recorded.folder.resolve().name,
            "about": self.data.describe(),
            "replaced": self.data.is_replaced,
            "lists": [(name, LABELS[name], len(view.items)) for name, view in self.data.views.items()],
            "current": current,
            "has_pairs": "pairs" in self.data.views,
            "conflict_count": len(self.ledger.conflicts()),
            "noun": self.data.noun,
            "score_name": self.data.score_name,
            "threshold": self.data.threshold,
            "blind_fixed": self.blind,
            "sampling": "choice" in values and values["choice"].sample is not None,
            "without_texts": self.data.shown.without_texts,
        }
        return self.pages.answer(request, template, status=status, viewer=viewer, **shared, **values)
