"""Stop line executor: stores each step first, then signs and sends it, then settles it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Final

from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import Noted, Stopped
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Status
from domain.refusals import Refused, refusal
from domain.trading.keeper_key_rules import SigningRefused
from domain.trading.orders import DONE, CancelAction, Envelope, Order, OrderAction
from domain.trading.outcome import OrderEnd
from domain.trading.stop_line import (
    CLOSE_VALID_FOR,
    RETRY_AFTER,
    Blocked,
    Close,
    NothingOpen,
    ReduceOrder,
    State,
    StopLineState,
    StopLineView,
    Wait,
    bytes_live,
    cloid_of,
    has_own_position,
    next_move,
    tries_of,
    unsettled,
)
from domain.trading.venue_account import milliseconds
from storage.sql import Duplicate
from storage.unit_of_work import UnitOfWork
from tools.context.approval_keeping import close_pending
from tools.model.operation import Deps
from tools.model.switches import switches
from tools.trading.orders.market_state import outage_reason
from tools.trading.orders.status_sync import confirm_end, sync_fees, sync_status
from tools.trading.orders.submit import ended
from tools.trading.stop_line.reduce_order import close_action, close_order
from tools.trading.stop_line.tracked_mandate import (
    FILLS,
    POST,
    SIGNER,
    STATUS,
    TrackedMandate,
    VenueSnapshot,
    load,
    signer_terms,
)

log = logging.getLogger("wallet.stop_line")
NO_KEY: Final = "its owner approved no keeper key, or it was revoked or ended"
BLOCKED: Final = "keeper_blocked"
# An account that shows nothing of what the fills say is left is believed after this long.
NOTHING_FOR: Final = timedelta(minutes=3)
NOTHING_HELD: Final = "the account shows nothing of the mandate"


class Superseded(Exception):
    """Another process leads; this one stops where it stands."""


class SignerUnavailable(Exception):
    """The keeper cannot sign now; the sentence gives the reason."""


class StopLineExecutor:
    """The hands of one round."""

    def __init__(
        self, deps: Deps, market_snapshot: VenueSnapshot, leads: Callable[[UnitOfWork], bool]
    ):
        self.deps, self.market, self._leads = deps, market_snapshot, leads

    # -- on record

    def _insist(self, uow: UnitOfWork) -> None:
        """Errors: Superseded, which takes the whole transaction back."""
        if not self._leads(uow):
            raise Superseded
        if switches(uow, self.deps.defaults).stop_line_dry_run:
            raise Superseded  # switched while this round ran

    async def stop(self, w: TrackedMandate) -> TrackedMandate:
        """Stop the mandate in the record, so that nothing new cites it, and open an episode."""

        def work(uow: UnitOfWork) -> None:
            self._insist(uow)
            mandate = uow.mandates.get(w.mandate.public_id, lock=True)
            if mandate is None or mandate.status is not Status.WORKING:
                return
            now = self.deps.clock.now()
            mandate = replace(
                mandate, status=status_after(mandate, LifecycleAction.STOP), stopped_at=now
            )
            uow.mandates.save(mandate)
            close_pending(uow, mandate)
            self._append(uow, w, LedgerKind.STOP, Stopped(reason="floor", record_only=True))
            self._store_state(uow, w, "open", None, episode=1)

        await self.deps.store.write(work)
        return await self._reload(w)

    async def opened(self, w: TrackedMandate) -> TrackedMandate:
        """Open the next episode: the ladder begins anew."""
        episode = (w.keeping.episode if w.keeping else 0) + 1
        why = w.keeping.why if w.keeping else None

        def work(uow: UnitOfWork) -> None:
            self._insist(uow)
            self._store_state(uow, w, "open", why, episode=episode)

        await self.deps.store.write(work)
        return await self._reload(w)

    async def warn(self, w: TrackedMandate) -> None:
        """Warn once that this mandate cannot be closed."""
        await self._note_reason(
            w, "warned", f"the stop line is reached and nothing is closed: {NO_KEY}"
        )

    async def _note_reason(self, w: TrackedMandate, state: State, reason: str) -> None:
        """Note why nothing more is done; the owner reads each reason once."""
        stored = w.keeping
        if (
            stored is not None
            and (stored.state, stored.why) == (state, reason)
            and state != "blocked"
        ):
            return

        def work(uow: UnitOfWork) -> None:
            self._insist(uow)
            now = uow.venue_keeping.get(*w.id)
            note = Noted(text=f"The keeper is blocked: {reason}.", why=BLOCKED)
            before = (e.payload.get("text") for e in uow.ledger.newest(w.mandate.public_id))
            if (now is None or now.why != reason) and note.text not in before:
                self._append(uow, w, LedgerKind.NOTE, note)
            retry_at = self.deps.clock.now() + RETRY_AFTER if state == "blocked" else None
            episode = now.episode if now is not None else 0
            self._store_state(uow, w, state, reason, episode=episode, retry_at=retry_at)

        await self.deps.store.write(work)
        log.warning("%s on %s: %s: %s", *w.id, BLOCKED, reason)

    def _append(
        self, uow: UnitOfWork, w: TrackedMandate, kind: LedgerKind, payload: Stopped | Noted
    ) -> None:
        now = self.deps.clock.now()
        row = NewEvent(
            kind=kind,
            reported_by=Reporter.KEEPER,
            occurred_at=now,
            chain_id=w.mandate.chain_id,
            payload=written(payload),
        )
        uow.ledger.append(w.mandate.public_id, row, event_id=self.deps.ids.short("ev_"), now=now)

    def _store_state(
        self,
        uow: UnitOfWork,
        w: TrackedMandate,
        state: State,
        reason: str | None,
        *,
        episode: int,
        retry_at: datetime | None = None,
    ) -> None:
        uow.venue_keeping.put(
            StopLineState(
                public_id=w.mandate.public_id,
                network=w.link.network,
                episode=episode,
                state=state,
                why=reason,
                changed_at=self.deps.clock.now(),
                again_at=retry_at,
            )
        )

    async def _reload(self, w: TrackedMandate) -> TrackedMandate:
        """The mandate as it is on record now."""
        public_id, network = w.id
        find = partial(load, deps=self.deps, public_id=public_id, network=network)
        tracked = await self.deps.store.read(find)
        if tracked is None:
            raise Refused(refusal("not_found", what="mandate"))
        return tracked

    # -- in dry run

    async def would(self, w: TrackedMandate) -> None:
        """Say what would be done, to the last field; nothing is signed, sent or written."""
        episode = w.keeping.episode if w.keeping else 1
        standing = await self.market.open(w)
        if standing is not None and any(o.action.cloid in standing for o in w.orders):
            log.warning("%s on %s: would cancel", *w.id)
        move = next_move(
            await self.market.view(w, episode, standing, await self.market.positions_of(w))
        )
        if isinstance(move, Close):
            for cut in move.orders:
                cloid = cloid_of(*w.id, cut.coin, episode, 0)
                signing = self.market.venue.to_sign(
                    close_action(cut, cloid), Envelope(nonce=0, expires_after=0)
                )
                log.warning("%s on %s: would_close %s", *w.id, signing.action_json)
        else:
            log.warning("%s on %s: would %s", *w.id, type(move).__name__.lower())

    # -- step by step

    async def steps(self, w: TrackedMandate) -> None:
        """Cancel what stands, ask what became of what was sent, and close what is held.

        Only the last has to succeed: nothing that the record or the venue leaves open holds it.
        """
        stored = w.keeping
        if stored is None or stored.state != "open":
            return
        standing = await self.market.open(w)
        if standing is not None:
            standing = await self._cancelled(w, standing)
        positions = await self.market.positions_of(w)
        w = await self._settled(w, positions)
        view = await self.market.view(w, stored.episode, standing, positions)
        move = next_move(view)
        if stored.why == NOTHING_HELD and not isinstance(move, NothingOpen):
            await self.deps.store.write(partial(self._since_now, w, None))
        if isinstance(move, Close):
            await self._all(w, view, move.orders)
        elif isinstance(move, Wait):
            await self.waits(w, move.reason)
        elif isinstance(move, Blocked):
            await self._note_reason(w, "blocked", move.reason)
        elif isinstance(move, NothingOpen):
            await self._ends(w)

    async def _ends(self, w: TrackedMandate) -> None:
        """End a mandate without positions: at once where the fills say so too, else once that was
        so for a while, since an answer without a position may be wrong.
        """
        if has_own_position(w.orders):
            w = await self._settled(w, None)
        stored = w.keeping
        if has_own_position(w.orders) and (stored is None or stored.why != NOTHING_HELD):
            await self.deps.store.write(partial(self._since_now, w, NOTHING_HELD))
            return
        if (
            has_own_position(w.orders)
            and stored is not None
            and w.now < stored.changed_at + NOTHING_FOR
        ):
            return
        await self.deps.store.write(partial(self._done, w))
        log.warning("%s on %s is closed", *w.id)

    def _since_now(self, w: TrackedMandate, reason: str | None, uow: UnitOfWork) -> None:
        self._insist(uow)
        episode = w.keeping.episode if w.keeping else 1
        self._store_state(uow, w, "open", reason, episode=episode)

    async def waits(self, w: TrackedMandate, reason: str) -> None:
        """Tell the owner why a tick neither closed anything nor ended; each reason once."""
        await self._note_reason(w, "open", reason)

    def _done(self, w: TrackedMandate, uow: UnitOfWork) -> None:
        self._insist(uow)
        episode = w.keeping.episode if w.keeping else 1
        self._store_state(uow, w, "done", None, episode=episode)

    async def _settled(
        self, w: TrackedMandate, positions: Mapping[str, Decimal] | None
    ) -> TrackedMandate:
        """Query the status of orders whose end is unknown, and the fills of those in a product
        that is `positions` (None: in any); the mandate as it is then. An order that the venue does
        not answer for now is queried again.
        """
        request = False
        for order in w.orders:
            given_out = order.status in ("awaiting_signature", "expired")
            try:
                if order.status in DONE and unsettled(order):
                    if positions is None or positions.get(order.product):
                        self.market.meter.add(FILLS)
                        await sync_fees(self.deps, order, "keeper")
                        request = True
                elif unsettled(order) or (given_out and bytes_live(order, w.now)):
                    self.market.meter.add(STATUS)
                    await sync_status(self.deps, order, "keeper")
                    request = True
            except Refused as refused:
                log.info("order %s: %s", order.order_id, refused.refusal.reason)
        return await self._reload(w) if request else w

    async def _cancelled(self, w: TrackedMandate, standing: frozenset[str]) -> frozenset[str]:
        """Cancel the mandate's own orders that stand at the venue; which may still stand."""
        gone = set()
        for order in w.orders:
            if order.action.cloid not in standing:
                continue
            action = CancelAction(asset_id=order.action.asset_id, cloid=order.action.cloid)
            try:
                signed = await self._signed(w, order.product, action)
                self.market.meter.add(POST + STATUS)
                await self.market.venue.place(action, *signed, priority="keeper")
                synced = await sync_status(self.deps, order, "keeper")
            except SignerUnavailable as unsigned:
                await self._note_reason(w, "open", str(unsigned))
                break
            except Refused as refused:
                log.info("order %s: %s", order.order_id, refused.refusal.reason)
                continue
            if synced.status in DONE:
                gone.add(order.action.cloid)
        return standing - gone

    async def _signed(
        self, w: TrackedMandate, coin: str, action: OrderAction | CancelAction
    ) -> tuple[Envelope, dict[str, object]]:
        """The signer's word over an action. Errors: Unsigned."""
        if self.deps.signer is None:
            raise SignerUnavailable("no signer is set")
        until = milliseconds(self.deps.clock.now() + CLOSE_VALID_FOR)
        self.market.meter.add(SIGNER)
        try:
            envelope, signature = await self.deps.signer.keeper_signed(
                w.link.network, w.link.wallet, coin, action, until, signer_terms(w.mandate)
            )
        except SigningRefused as refused:
            raise SignerUnavailable(f"the signer refuses: {refused}") from None
        except Refused as refused:
            raise SignerUnavailable(refused.refusal.reason) from None
        return envelope, dict(signature)

    async def _all(
        self, w: TrackedMandate, view: StopLineView, cuts: Sequence[ReduceOrder]
    ) -> None:
        """Send one order a product; an order that cannot be signed is reported, and delays no
        other.
        """
        why = []
        for one in cuts:
            try:
                await self._close(w, view, one)
            except SignerUnavailable as unsigned:
                why.append(f"{one.coin}: {unsigned}")
        if why:
            await self._note_reason(w, "open", "; ".join(why))

    async def _close(self, w: TrackedMandate, view: StopLineView, cut: ReduceOrder) -> None:
        """One reduce-only order: signed, then on record, then sent once."""
        attempt = len(tries_of(view, cut.coin))
        cloid = cloid_of(*w.id, cut.coin, view.episode, attempt)
        action = close_action(cut, cloid)
        signed = await self._signed(w, cut.coin, action)
        order = close_order(
            w,
            cut,
            action,
            signed[0],
            self.deps.clock.now(),
            order_id=self.deps.ids.short("o_"),
            episode=view.episode,
            attempt=attempt,
        )
        try:
            await self.deps.store.write(partial(self._recorded, w, order))
        except Duplicate:
            log.warning("%s on %s: this step was taken already", *w.id)
            return
        await self._send(order, signed[1])

    def _recorded(self, w: TrackedMandate, order: Order, uow: UnitOfWork) -> None:
        """Put the order on record as being sent. Errors: Superseded, Unsigned,
        `Duplicate`."""
        self._insist(uow)
        key = uow.venue.key_in_use(w.link.link_id, "keeper")
        if key is None or not key.alive(self.deps.clock.now()):
            raise SignerUnavailable(NO_KEY)
        uow.orders.add(order)

    async def _send(self, order: Order, signature: dict[str, object]) -> None:
        """Post the bytes once, and write down what became of them."""
        self.market.meter.add(POST)
        if order.envelope is None:
            raise TypeError("an order that is sent has bytes")
        try:
            placed = await self.market.venue.place(
                order.action, order.envelope, signature, priority="keeper"
            )
        except Refused as refused:
            why, soon = outage_reason(refused), self.deps.clock.now() + timedelta(seconds=2)
            nothing = refusal("wallet_venue_unavailable", why=why, retry_at=soon)
            await ended(
                self.deps,
                order,
                OrderEnd(transition="refuse", refusal=nothing, fills_complete=True),
            )
            return
        end = await confirm_end(self.market.venue, order, placed, "keeper")
        result = await ended(self.deps, order, end)
        log.warning("%s: %s %s: %s", order.mandate_id, order.side, order.product, result.status)
