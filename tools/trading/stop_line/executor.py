"""Stop line executor: stores each step first, then signs and sends it, then settles it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Final

from domain.ledger.events.event import LedgerKind, NewEvent, Reporter
from domain.ledger.events.payload_codec import written
from domain.ledger.events.payloads import Noted, Stopped
from domain.mandates.lifecycle import LifecycleAction, status_after
from domain.mandates.mandate import Status
from domain.money import ZERO
from domain.refusals import Refused, SigningRefused, refusal
from domain.trading import stop_line as rules
from domain.trading.orders import DONE, CancelAction, Envelope, Order, OrderAction
from domain.trading.outcome import OrderEnd
from domain.trading.precision import notional
from domain.trading.stop_line import ReduceOrder, State, StopLineView
from domain.trading.venue_account import milliseconds
from storage.sql import Duplicate
from storage.unit_of_work import UnitOfWork
from tools.context.approval_keeping import close_pending
from tools.model.operation import Deps
from tools.model.switches import switches
from tools.trading.orders.market_state import outage_reason
from tools.trading.orders.status_sync import confirm_end, sync_fees, sync_status
from tools.trading.orders.submit import LEFT_BEHIND, ended
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
    """The hands of one round for one mandate, `w`, which is read again after each step."""

    def __init__(
        self,
        deps: Deps,
        market: VenueSnapshot,
        leads: Callable[[UnitOfWork], bool],
        w: TrackedMandate,
    ):
        self.deps, self.market, self._leads, self.w = deps, market, leads, w

    # -- on record

    async def _write(self, work: Callable[[UnitOfWork], None]) -> None:
        """One step on record. Errors: Superseded, which takes the whole transaction back."""

        def led(uow: UnitOfWork) -> None:
            # Another process leads, or the keeper was switched off while this round ran.
            if not self._leads(uow) or switches(uow, self.deps.defaults).stop_line_dry_run:
                raise Superseded
            work(uow)

        await self.deps.store.write(led)

    async def _write_state(
        self, state: State, reason: str | None = None, episode: int | None = None
    ) -> None:
        episode = self.w.episode if episode is None else episode
        await self._write(lambda uow: self._put(uow, state, reason, episode))

    def _put(self, uow: UnitOfWork, state: State, reason: str | None, episode: int) -> None:
        now, (public_id, network) = self.deps.clock.now(), self.w.id
        uow.venue_keeping.put(
            rules.StopLineState(
                public_id=public_id,
                network=network,
                episode=episode,
                state=state,
                why=reason,
                changed_at=now,
                again_at=now + rules.RETRY_AFTER if state == "blocked" else None,
            )
        )

    def _append(self, uow: UnitOfWork, kind: LedgerKind, payload: Stopped | Noted) -> None:
        now, mandate = self.deps.clock.now(), self.w.mandate
        row = NewEvent(
            kind=kind,
            reported_by=Reporter.KEEPER,
            occurred_at=now,
            chain_id=mandate.chain_id,
            payload=written(payload),
        )
        uow.ledger.append(mandate.public_id, row, event_id=self.deps.ids.short("ev_"), now=now)

    async def _reload(self) -> None:
        """Read the mandate as it is on record now."""
        public_id, network = self.w.id
        w = await self.deps.store.read(lambda uow: load(uow, self.deps, public_id, network))
        if w is None:
            raise Refused(refusal("not_found", what="mandate"))
        self.w = w

    async def stop(self) -> None:
        """Stop the mandate in the record, so that nothing new cites it, and open an episode."""

        def work(uow: UnitOfWork) -> None:
            mandate = uow.mandates.get(self.w.mandate.public_id, lock=True)
            if mandate is None or mandate.status is not Status.WORKING:
                return
            status = status_after(mandate, LifecycleAction.STOP)
            mandate = replace(mandate, status=status, stopped_at=self.deps.clock.now())
            uow.mandates.save(mandate)
            close_pending(uow, mandate)
            self._append(uow, LedgerKind.STOP, Stopped(reason="floor", record_only=True))
            self._put(uow, "open", None, 1)

        await self._write(work)
        await self._reload()

    async def begin_episode(self) -> None:
        """Open the next episode: the ladder begins anew."""
        w = self.w
        episode, why = (1, None) if w.keeping is None else (w.episode + 1, w.keeping.why)
        await self._write_state("open", why, episode)
        await self._reload()

    async def warn(self) -> None:
        """Warn once that this mandate cannot be closed."""
        await self.note("warned", f"the stop line is reached and nothing is closed: {NO_KEY}")

    async def note(self, state: State, reason: str) -> None:
        """Note why a tick neither closed anything nor ended; the owner reads each reason once."""
        noted = None if self.w.keeping is None else (self.w.keeping.state, self.w.keeping.why)
        if noted == (state, reason) and state != "blocked":
            return

        def work(uow: UnitOfWork) -> None:
            now = uow.venue_keeping.get(*self.w.id)
            note = Noted(text=f"The keeper is blocked: {reason}.", why=BLOCKED)
            before = (e.payload.get("text") for e in uow.ledger.newest(self.w.mandate.public_id))
            if (now is None or now.why != reason) and note.text not in before:
                self._append(uow, LedgerKind.NOTE, note)
            self._put(uow, state, reason, 0 if now is None else now.episode)

        await self._write(work)
        log.warning("%s on %s: %s: %s", *self.w.id, BLOCKED, reason)

    # -- in dry run

    async def would(self) -> None:
        """Say what would be done, to the last field; nothing is signed, sent or written."""
        w, standing = self.w, await self.market.open(self.w)
        if standing is not None and any(o.action.cloid in standing for o in w.orders):
            log.warning("%s on %s: would cancel", *w.id)
        positions = await self.market.positions_of(w)
        move = rules.next_move(await self.market.view(w, w.episode, standing, positions))
        if not isinstance(move, rules.Close):
            log.warning("%s on %s: would %s", *w.id, type(move).__name__.lower())
            return
        for cut in move.orders:
            action = close_action(cut, rules.cloid_of(*w.id, cut.coin, w.episode, 0))
            signing = self.market.venue.to_sign(action, Envelope(nonce=0, expires_after=0))
            log.warning("%s on %s: would_close %s", *w.id, signing.action_json)

    # -- step by step

    async def steps(self) -> None:
        """Cancel what stands, ask what became of what was sent, and close what is held.

        Only the last has to succeed: nothing that the record or the venue leaves open holds it.
        """
        stored = self.w.keeping
        if stored is None or stored.state != "open":
            return
        standing = await self.market.open(self.w)
        if standing is not None:
            standing = await self._cancel(standing)
        positions = await self.market.positions_of(self.w)
        await self._settle(positions)
        view = await self.market.view(self.w, stored.episode, standing, positions)
        move = rules.next_move(view)
        if isinstance(move, rules.NothingOpen):
            await self._end()
            return
        if stored.why == NOTHING_HELD:
            await self._write_state("open")
        if isinstance(move, rules.Close):
            await self._close_all(view, move.orders)
        else:
            state: State = "open" if isinstance(move, rules.Wait) else "blocked"
            await self.note(state, move.reason)

    async def _end(self) -> None:
        """End a mandate without positions: at once where the fills say so too, else once that was
        so for a while, since an answer without a position may be wrong.
        """
        if rules.has_own_position(self.w.orders):
            await self._settle(None)
        if rules.has_own_position(self.w.orders):
            if self.w.keeping is None or self.w.keeping.why != NOTHING_HELD:
                await self._write_state("open", NOTHING_HELD)
                return
            if self.w.now < self.w.keeping.changed_at + NOTHING_FOR:
                return
        await self._write_state("done")
        log.warning("%s on %s is closed", *self.w.id)

    async def _settle(self, positions: Mapping[str, Decimal] | None) -> None:
        """Query the status of orders whose end is unknown, and the fills of those in a product
        that is `positions` (None: in any). An order that the venue does not answer for now is
        queried again.
        """
        is_newer = False
        for order in self.w.orders:
            given_out = order.status in ("awaiting_signature", "expired")
            try:
                if order.status in DONE and rules.unsettled(order):
                    if positions is None or positions.get(order.product):
                        self.market.meter.spent += FILLS
                        await sync_fees(self.deps, order, "keeper")
                        is_newer = True
                elif rules.unsettled(order) or (given_out and rules.bytes_live(order, self.w.now)):
                    self.market.meter.spent += STATUS
                    await sync_status(self.deps, order, "keeper")
                    is_newer = True
            except Refused as refused:
                log.info("order %s: %s", order.order_id, refused.refusal.reason)
        if is_newer:
            await self._reload()

    async def _cancel(self, standing: frozenset[str]) -> frozenset[str]:
        """Cancel the mandate's own orders that stand at the venue; which may still stand."""
        gone = set()
        for order in self.w.orders:
            if order.action.cloid not in standing:
                continue
            action = CancelAction(asset_id=order.action.asset_id, cloid=order.action.cloid)
            try:
                signed = await self._sign(order.product, action)
                self.market.meter.spent += POST + STATUS
                await self.market.venue.place(action, *signed, priority="keeper")
                synced = await sync_status(self.deps, order, "keeper")
            except SignerUnavailable as unsigned:
                await self.note("open", str(unsigned))
                break
            except Refused as refused:
                log.info("order %s: %s", order.order_id, refused.refusal.reason)
                continue
            if synced.status in DONE:
                gone.add(order.action.cloid)
        return standing - gone

    async def _sign(
        self, coin: str, action: OrderAction | CancelAction
    ) -> tuple[Envelope, Mapping[str, object]]:
        """The signer's word over an action. Errors: SignerUnavailable."""
        if self.deps.signer is None:
            raise SignerUnavailable("no signer is set")
        link, terms = self.w.link, signer_terms(self.w.mandate)
        until = milliseconds(self.deps.clock.now() + rules.CLOSE_VALID_FOR)
        self.market.meter.spent += SIGNER
        try:
            return await self.deps.signer.keeper_signed(
                link.network, link.wallet, coin, action, until, terms
            )
        except SigningRefused as refused:
            raise SignerUnavailable(f"the signer refuses: {refused}") from None
        except Refused as refused:
            raise SignerUnavailable(refused.refusal.reason) from None

    async def _close_all(self, view: StopLineView, cuts: Sequence[ReduceOrder]) -> None:
        """Send one order a product; one that cannot be signed is reported, and delays no other."""
        why = []
        for cut in cuts:
            try:
                await self._close(view, cut)
            except SignerUnavailable as unsigned:
                why.append(f"{cut.coin}: {unsigned}")
        if why:
            await self.note("open", "; ".join(why))

    async def _close(self, view: StopLineView, cut: ReduceOrder) -> None:
        """One reduce-only order: signed, then on record, then sent once."""
        attempt = len(rules.tries_of(view, cut.coin))
        cloid = rules.cloid_of(*self.w.id, cut.coin, view.episode, attempt)
        action = close_action(cut, cloid)
        envelope, signature = await self._sign(cut.coin, action)
        order = self._order(cut, action, envelope, view.episode, attempt)

        def work(uow: UnitOfWork) -> None:
            key = uow.venue.key_in_use(self.w.link.link_id, "keeper")
            if key is None or not key.alive(self.deps.clock.now()):
                raise SignerUnavailable(NO_KEY)
            uow.orders.add(order)

        try:
            await self._write(work)
        except Duplicate:
            log.warning("%s on %s: this step was taken already", *self.w.id)
            return
        await self._send(order, envelope, signature)

    def _order(
        self, cut: ReduceOrder, action: OrderAction, envelope: Envelope, episode: int, attempt: int
    ) -> Order:
        """The order as it is put on record before it is sent."""
        now, link, mandate = self.deps.clock.now(), self.w.link, self.w.mandate
        return Order(
            order_id=self.deps.ids.short("o_"),
            owner_id=mandate.owner_id,
            agent_id=None,
            source="keeper",
            closing=True,
            mode="live",
            mode_seen=None,
            network=link.network,
            wallet=link.wallet,
            book=None,
            product=cut.coin,
            side="buy" if cut.is_buy else "sell",
            type="market",
            slippage_bps=rules.LADDER_BPS[cut.rung],
            leverage=None,
            notional=notional(cut.size, cut.limit_px),
            action=action,
            envelope=envelope,
            sign_mode="keeper",
            status="executing",
            version=1,
            attempt=attempt + 1,
            by="keeper",
            mandate_id=mandate.public_id,
            intent_id=None,
            why="the stop line",
            asked={"episode": episode, "rung": cut.rung},
            created_at=now,
            expires_at=now + rules.CLOSE_VALID_FOR,
            counted=ZERO,
            counted_day=None,
            sent_at=now,
            next_check_at=now + LEFT_BEHIND,
        )

    async def _send(
        self, order: Order, envelope: Envelope, signature: Mapping[str, object]
    ) -> None:
        """Post the bytes once, and write down what became of them."""
        venue = self.market.venue
        self.market.meter.spent += POST
        try:
            placed = await venue.place(order.action, envelope, signature, priority="keeper")
        except Refused as refused:
            why, soon = outage_reason(refused), self.deps.clock.now() + timedelta(seconds=2)
            nothing = refusal("wallet_venue_unavailable", why=why, retry_at=soon)
            end = OrderEnd(transition="refuse", refusal=nothing, fills_complete=True)
            await ended(self.deps, order, end)
            return
        end = await confirm_end(venue, order, placed, "keeper")
        result = await ended(self.deps, order, end)
        log.warning("%s: %s %s: %s", order.mandate_id, order.side, order.product, result.status)


def close_action(cut: ReduceOrder, cloid: str) -> OrderAction:
    """A reduce-only, immediate order without a builder fee: a close never needs one."""
    return OrderAction(
        asset_id=cut.asset_id,
        is_buy=cut.is_buy,
        limit_px=cut.limit_px,
        size=cut.size,
        reduce_only=True,
        tif="ioc",
        cloid=cloid,
    )
