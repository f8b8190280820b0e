"""Browsers and mailboxes: pushed to by the Web Push protocol, written to through a mail server, and never more than asked for."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import anyio
import http_ece
import pytest
from aiohttp import web
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02

from domain.mandates.notice_choices import (
    CHANNELS,
    NOTICE_KINDS,
    Channel,
    NoticeKind,
    NoticeSettings,
    QuietHours,
)
from domain.reads.notices import ApprovalAskedNotice, Notice
from http_shim.http_server import bound
from server.keeper.notification_worker import ROOM, NotificationWorker
from server.mail import Letter, MailClient
from server.mail_server import mail_server
from server.outbound import AT_ONCE, OutboundClient, PostResult
from storage.feed.ledger_feed import LedgerFeed
from storage.repositories.webhooks import LANES, DeliveryAttempt
from storage.store import Store
from storage.unit_of_work import UnitOfWork
from tests.server.test_notices import KEY, OWNER, PAUSED, deps_of
from tests.waiting import STUCK_S
from tests.world import BY_NAME, Clock, Mandated, World, working
from tools.context.notice_outbox import enqueue_notice, quiet_until
from tools.dispatch.run import run
from tools.model.mail_address import is_email_address
from tools.model.operation import ANONYMOUS, Caller, Deps
from tools.model.sealing import SealBroken
from tools.model.web_push import (
    BrowserKeys,
    WebPush,
    bytes_of,
    encrypt_with,
    new_private_key,
    plain_base64,
)
from tools.model.webhook_signing import WebhookSigning

pytestmark = pytest.mark.anyio
ASKED = Notice(
    kind="approval.asked",
    key="asked:ap_1",
    data=ApprovalAskedNotice(
        public_id="m_1", approval_id="ap_1", amount_usdc="150.000000",
        target="0x" + "11" * 20, expires_at="2026-11-20T12:00:00Z",
    ),
)  # fmt: skip
OTHER = Caller("owner", "u_other", "u_other", "0x" + "33" * 20)
ALL: list[NoticeKind] = ["approval.asked", "mandate.paused"]


@dataclass
class Browser:
    """A browser's side of a subscription, as the Push API gives it to a page."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    auth: bytes = b"0123456789abcdef"

    @property
    def point(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def subscription(self) -> dict[str, str]:
        return {
            "endpoint": self.endpoint,
            "p256dh": plain_base64(self.point),
            "auth": plain_base64(self.auth),
        }

    def opened(self, body: bytes) -> dict[str, Any]:
        """What a push service handed on, by another implementation of RFC 8188 and 8291."""
        plain = http_ece.decrypt(body, private_key=self.key, auth_secret=self.auth)
        return dict(json.loads(plain))


@dataclass
class PushService:
    """A push service that keeps what it is POSTed."""

    url: str
    answer: Callable[[], Any]
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@asynccontextmanager
async def push_service(answer: Callable[[], Any] = lambda: 201) -> AsyncIterator[PushService]:
    async def handle(request: web.Request) -> web.StreamResponse:
        service.got.append((dict(request.headers), await request.read()))
        response = service.answer()
        if asyncio.iscoroutine(response):
            response = await response
        return response if isinstance(response, web.Response) else web.Response(status=response)

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    sock = bound("127.0.0.1", 0)
    await web.SockSite(runner, sock).start()
    service = PushService(f"http://127.0.0.1:{sock.getsockname()[1]}/push/abc", answer)
    try:
        yield service
    finally:
        await runner.cleanup()


@dataclass
class Mailbox:
    """A real mail server, and what it took."""

    port: int
    got: list[tuple[str, list[str], EmailMessage]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    answer: str = "250 OK"
    accounts: dict[bytes, bytes] = field(default_factory=dict)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        message = message_from_bytes(envelope.content, policy=default)
        assert isinstance(message, EmailMessage)
        self.got.append((envelope.mail_from, envelope.rcpt_tos, message))
        self.raw.append(envelope.content)
        return self.answer

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> Any:  # fmt: skip
        good = isinstance(data, LoginPassword) and self.accounts.get(data.login) == data.password
        return AuthResult(success=good, handled=False)  # the server says the 535 itself


@asynccontextmanager
async def mail_host(**options: Any) -> AsyncIterator[Mailbox]:
    box, talks = Mailbox(0), list[SMTP]()
    loop = asyncio.get_running_loop()
    options |= {"authenticator": box.authenticate, "auth_require_tls": False}

    def talk() -> SMTP:
        talks.append(SMTP(box, loop=loop, **options))
        return talks[-1]

    server = await loop.create_server(talk, "127.0.0.1", 0)
    box.port = server.sockets[0].getsockname()[1]
    try:
        yield box
    finally:
        server.close()
        for one in talks:
            if one.transport is not None:
                one.transport.close()
        await server.wait_closed()
        await asyncio.sleep(0)


def client_of(box: Mailbox, login: str = "") -> MailClient:
    server = mail_server(f"smtp://{login}127.0.0.1:{box.port}")
    return MailClient(server, "wallet@example.com", "wallet.example")


def reach_of(store: Store, clock: Clock, **config: Any) -> Deps:
    """A service that has a key for browsers and a mail server."""
    deps = deps_of(store, clock, **config)
    push = WebPush(new_private_key(), "https://wallet.example")
    return replace(deps, push=push, email=True)


async def person(deps: Deps, who: Caller = OWNER) -> None:
    new = who.user_id or ""
    await deps.store.write(
        lambda uow: uow.identities.person(who.address or "", new_id=new, now=deps.clock.now())
    )


async def do(deps: Deps, name: str, who: Caller = OWNER, **fields: Any) -> dict[str, Any]:
    reply = await run(BY_NAME[name], deps, who, fields)
    return {"status": reply.status, **reply.body}


async def notify(deps: Deps, notice: Notice = ASKED, owner: str = "u_owner") -> int:
    now = deps.clock.now()
    return await deps.store.write(lambda uow: enqueue_notice(uow, owner, notice, now))


async def sent(
    deps: Deps, mail: MailClient | None = None, *, processes: int = 1, private: bool = True
) -> int:
    """One round of each process, until all that it took is answered."""
    taken, tail = 0, LedgerFeed(deps.store.url)
    async with OutboundClient(private=private, total_s=2) as out:
        every = [NotificationWorker(deps, tail, out, f"p_{n}", mail) for n in range(processes)]
        async with anyio.create_task_group() as group:
            for worker in every:
                taken += await worker.round(group)
    return taken


# -- the protocol


async def test_the_message_of_the_standard_comes_out_byte_for_byte() -> None:
    """RFC 8291, appendix A."""
    sender = ec.derive_private_key(
        int.from_bytes(bytes_of("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"), "big"),
        ec.SECP256R1(),
    )
    keys = BrowserKeys(
        bytes_of(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        ),
        bytes_of("BTBZMqHH6r4Tts7J_aSIgg"),
    )
    plain = b"When I grow up, I want to be a watermelon"
    message = encrypt_with(keys, plain, sender, bytes_of("DGv6ra1nlYgDCS1FRnbzlw"))
    assert plain_base64(message) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
        "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


async def test_a_push_is_opened_by_its_browser_and_names_kind_and_link_alone(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    async with push_service() as service:
        browser = Browser(service.url)
        made = await do(deps, "owner_push_subscribe", **browser.subscription)
        assert made["status"] == 200
        assert await notify(deps) == 1
        assert await sent(deps, processes=3) == 1
        ((headers, body),) = service.got
    assert browser.opened(body) == {"kind": "approval.asked", "url": "/app/approvals/ap_1"}
    assert headers["Content-Encoding"] == "aes128gcm"
    assert (headers["Urgency"], headers["TTL"]) == ("high", "86400")
    assert len(headers["Topic"]) <= 32
    # The name under which the service calls, by another implementation of RFC 8292.
    assert Vapid02.verify(headers["Authorization"])
    token = headers["Authorization"].split("t=")[1].split(",")[0]
    claims = json.loads(urlsafe_b64decode(token.split(".")[1] + "=="))
    parts = urlsplit(service.url)
    assert claims["aud"] == f"{parts.scheme}://{parts.netloc}"
    assert claims["sub"] == "https://wallet.example"
    assert 0 < claims["exp"] - datetime.now(UTC).timestamp() < 86_400


async def test_a_browsers_keys_are_stored_sealed_and_another_operator_key_opens_none(
    store: Store,
) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    browser = Browser("https://push.example/a")
    await do(deps, "owner_push_subscribe", **browser.subscription)
    rows = await store.read(lambda uow: uow.sql.rows("SELECT * FROM webhooks"))
    assert browser.subscription["auth"] not in str(rows)
    assert browser.subscription["p256dh"] not in str(rows)
    with pytest.raises(SealBroken):
        WebPush(new_private_key(), None).opened(str(rows[0]["sealed"]))


async def test_a_browser_that_its_service_knows_no_more_is_told_no_more(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    for status in (404, 410):
        async with push_service(lambda status=status: status) as service:  # type: ignore[misc]
            await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
            await notify(deps, replace(ASKED, key=f"k{status}"))
            await sent(deps)
        settings = await do(deps, "owner_notice_settings")
        assert settings["channels"]["push"]["browsers"] == []


@pytest.mark.parametrize(("asked", "waits"), [("900", 900), ("99999999", 3_600)])
async def test_a_push_service_that_asks_for_time_gets_it(
    store: Store, asked: str, waits: int
) -> None:
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    answers = [web.Response(status=429, headers={"Retry-After": asked}), 201, 201]
    async with push_service(lambda: answers.pop(0)) as service:
        await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
        await notify(deps)
        await sent(deps)
        # Nothing else is sent there meanwhile, new or urgent.
        await notify(deps, replace(ASKED, key="another"))
        clock.forward(seconds=waits - 100)
        assert await sent(deps) == 0
        clock.forward(seconds=101)
        assert [await sent(deps) for _ in range(3)] == [1, 1, 0]
    first, _, again = service.got
    assert first[0]["Topic"] == again[0]["Topic"]


async def test_an_endpoint_that_hangs_or_answers_without_end_holds_nobody(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    big = web.Response(status=201, body=b"x" * 4_000_000)
    for answer in (lambda: asyncio.sleep(30, 201), lambda: big):
        async with push_service(answer) as service:
            await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
            await notify(deps, replace(ASKED, key=service.url))
            with anyio.fail_after(10):
                assert await sent(deps) >= 1


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://127.0.0.1/x", "https://10.0.0.8/x", "https://[::1]/x", "https://169.254.169.254/x",
        "http://push.example/x", "https://push.example:22/x", "https://push.example@evil.example/x",
        "https://localhost/x", "https://0x7f.1/x", "https://push.example/a\r\nX: y",
    ],
)  # fmt: skip
async def test_an_endpoint_that_is_none_of_the_internet_is_refused(
    store: Store, endpoint: str
) -> None:
    deps = reach_of(store, Clock())
    deps = replace(deps, config=replace(deps.config, webhook_allow_private=False))
    await person(deps)
    reply = await do(deps, "owner_push_subscribe", **Browser(endpoint).subscription)
    assert (reply["status"], reply["error"]) == (400, "invalid_request")


async def test_an_endpoint_whose_name_points_inside_is_not_called(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    deps = replace(deps, config=replace(deps.config, webhook_allow_private=False))
    await person(deps)
    await do(deps, "owner_push_subscribe", **Browser("https://inside.example/x").subscription)
    await notify(deps)
    tail = LedgerFeed(deps.store.url)
    async with (
        OutboundClient(private=False, lookup=lambda h, p: ["10.0.0.8"]) as out,
        anyio.create_task_group() as group,
    ):
        await NotificationWorker(deps, tail, out, "p_1").round(group)
    rows = await store.read(lambda uow: uow.sql.rows("SELECT fault FROM webhook_deliveries"))
    assert [row["fault"] for row in rows] == ["address_not_allowed"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"p256dh": "AAAA"}, {"auth": "AAAA"}, {"p256dh": "é" * 20},
        {"p256dh": plain_base64(b"\x04" + b"\x01" * 64)},
    ],
)  # fmt: skip
async def test_keys_that_are_none_are_refused(store: Store, wrong: dict[str, str]) -> None:
    deps = reach_of(store, Clock())
    await person(deps)
    fields = Browser("https://push.example/x").subscription | wrong
    reply = await do(deps, "owner_push_subscribe", **fields)
    assert (reply["status"], reply["error"]) == (400, "invalid_request")


async def test_ten_thousand_subscriptions_are_ten(store: Store) -> None:
    deps = reach_of(store, Clock())
    await person(deps)
    browser, statuses = Browser(""), list[int]()
    for n in range(200):
        fields = browser.subscription | {"endpoint": f"https://push.example/{n}"}
        statuses.append((await do(deps, "owner_push_subscribe", **fields))["status"])
    assert (statuses[:10], set(statuses[10:])) == ([200] * 10, {429})
    rows = await store.read(lambda uow: uow.sql.rows("SELECT COUNT(*) AS n FROM webhooks"))
    assert rows[0]["n"] == 10
    # One of them anew is none more.
    again = browser.subscription | {"endpoint": "https://push.example/3"}
    assert (await do(deps, "owner_push_subscribe", **again))["status"] == 200


async def test_a_browser_tells_the_last_owner_who_subscribed_in_it(store: Store) -> None:
    deps = reach_of(store, Clock())
    await person(deps)
    await person(deps, OTHER)
    fields = Browser("https://push.example/x").subscription
    await do(deps, "owner_push_subscribe", **fields)
    theirs = await do(deps, "owner_push_subscribe", OTHER, **fields)
    mine = await do(deps, "owner_notice_settings")
    assert mine["channels"]["push"]["browsers"] == []
    gone = {"subscription_id": theirs["subscription_id"]}
    assert (await do(deps, "owner_push_remove", **gone))["status"] == 404
    assert (await do(deps, "owner_push_remove", OTHER, **gone))["status"] == 200


# -- e-mail


def links(message: EmailMessage) -> list[str]:
    body = message.get_body(("plain",))
    assert body is not None
    return [line for line in body.get_content().splitlines() if line.startswith("http")]


def _said(message: EmailMessage) -> str:
    """All of a message but what is drawn at random, which may hold any digits."""
    drawn = ("Message-ID", "Content-Type", "Date")
    texts = [str(value) for name, value in message.items() if name not in drawn]
    parts = [part for part in message.walk() if not part.is_multipart()]
    texts += [part.get_content() for part in parts]  # type: ignore[attr-defined]  # EmailMessages
    codes = {link.rsplit("/", 1)[1] for link in links(message) if "/notices/" in link}
    text = "\n".join(texts)
    for code in codes:
        text = text.replace(code, "")
    return text


async def verified(
    deps: Deps, box: Mailbox, mail: MailClient, address: str = "o@example.com"
) -> str:
    """An address whose link was opened; its stop link."""
    asked = await do(deps, "owner_email_ask", address=address)
    assert (asked["status"], asked["verified"]) == (200, False)
    await sent(deps, mail)
    first, settings, stop = links(box.got[-1][2])
    assert settings == f"{deps.config.base_url}/app/notices/settings"
    code = first.rsplit("/", 1)[1]
    assert (await do(deps, "owner_email_verify", code=code))["verified"] is True
    return stop


async def test_an_address_is_told_after_its_link_was_opened_and_not_before(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    async with mail_host() as box:
        mail = client_of(box)
        await do(deps, "owner_email_ask", address="o@example.com")
        assert await notify(deps) == 0
        await sent(deps, mail)
        (sender, to, message) = box.got.pop()
        assert (sender, to) == ("wallet@example.com", ["o@example.com"])
        code = links(message)[0].rsplit("/", 1)[1]
        await do(deps, "owner_email_verify", code=code)
        assert await notify(deps) == 1
        assert await sent(deps, mail, processes=3) == 1
        ((_, _, message),) = box.got
    assert message["Subject"] == "An action needs your approval"
    assert links(message)[0] == f"{deps.config.base_url}/app/approvals/ap_1"
    text = _said(message)
    assert "An action needs your approval" in text
    for secret in ("150", "11" * 20, "m_1", OWNER.address or ""):
        assert secret not in text
    html = message.get_body(("html",))
    assert html is not None
    assert 'href="http' in html.get_content()
    # RFC 5322, 3.6: a letter without its date is taken for unasked mail.
    assert message["Date"].datetime == deps.clock.now().replace(microsecond=0)
    # Mail programs read the address out of the very line.
    assert f"List-Unsubscribe: <{links(message)[2]}>\r\n".encode() in box.raw[-1]
    body = box.raw[-1].partition(b"\r\n\r\n")[2]
    assert max(map(len, body.splitlines())) <= 76  # RFC 2045, 6.7


async def test_letters_are_in_the_language_of_the_page_that_asked_for_them(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    async with mail_host() as box:
        mail = client_of(box)
        await do(deps, "owner_email_ask", address="o@example.com", language="de")
        await sent(deps, mail)
        link = box.got.pop()[2]
        assert link["Subject"] == "Bestätigen Sie Ihre E-Mail-Adresse"
        await do(deps, "owner_email_verify", code=links(link)[0].rsplit("/", 1)[1])
        told = {}
        for language in ("de", "xx", None, "en"):
            asked = await do(deps, "owner_email_ask", address="o@example.com", language=language)
            assert asked["verified"] is True
            await notify(deps, replace(ASKED, key=f"asked:{language}"))
            await sent(deps, mail)
            told[language] = box.got.pop()[2]
    assert told["de"]["Subject"] == "Eine Aktion braucht Ihre Genehmigung"
    assert told["de"]["Content-Language"] == "de"
    assert "An action" not in told["de"].as_string()
    for part in ("plain", "html"):
        body = told["de"].get_body((part,))
        assert body is not None
        assert "Eine Aktion braucht Ihre Genehmigung." in body.get_content()
    for other in ("xx", None, "en"):
        assert told[other]["Subject"] == "An action needs your approval"
        assert told[other]["Content-Language"] == "en"
    odd = await do(deps, "owner_email_ask", address="p@example.com", language="de\r\nBcc: x")
    assert odd["status"] == 400


async def test_a_link_is_opened_by_the_owner_who_asked_within_a_day_and_again_changes_nothing(
    store: Store,
) -> None:
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    await person(deps, OTHER)
    async with mail_host() as box:
        mail = client_of(box)
        await do(deps, "owner_email_ask", address="o@example.com")
        await sent(deps, mail)
        code = links(box.got[-1][2])[0].rsplit("/", 1)[1]
        await do(deps, "owner_email_ask", OTHER, address="other@example.com")
        for guess in (code[:-1] + ("a" if code[-1] != "a" else "b"), "", "x" * 64, "é" * 32):
            assert (await do(deps, "owner_email_verify", code=guess))["status"] in (400, 404)
        assert (await do(deps, "owner_email_verify", OTHER, code=code))["status"] == 404
        looked = await do(deps, "owner_email_verify", code=code, dry_run=True)
        assert (looked["address"], looked["verified"]) == ("o@example.com", False)
        assert (await do(deps, "owner_email_verify", code=code))["verified"] is True
        await do(deps, "owner_email_ask", address="second@example.com")
        await sent(deps, mail)
        late = links(box.got[-1][2])[0].rsplit("/", 1)[1]
        clock.forward(hours=25)
        assert (await do(deps, "owner_email_verify", code=late))["status"] == 404
        again = await do(deps, "owner_email_verify", code=code)
        assert (again["address"], again["verified"], again["valid_until"]) == (
            "o@example.com",
            True,
            None,
        )
        assert (await do(deps, "owner_email_verify", OTHER, code=code))["status"] == 404
    settings = await do(deps, "owner_notice_settings")
    email = settings["channels"]["email"]
    assert (email["address"], email["pending"]) == ("o@example.com", "second@example.com")


async def test_the_link_in_each_letter_ends_them_without_a_sign_in(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    async with mail_host() as box:
        stop = await verified(deps, box, client_of(box))
    receiver_id, code = stop.rsplit("/", 2)[1:]
    wrong = await do(deps, "email_stop", ANONYMOUS, receiver_id=receiver_id, code="a" * 32)
    assert wrong["status"] == 404
    for _ in range(2):
        right = await do(deps, "email_stop", ANONYMOUS, receiver_id=receiver_id, code=code)
        assert right["removed"] is True
    assert await notify(deps) == 0


@pytest.mark.parametrize(
    "address",
    [
        "o@example.com\r\nBcc: v@example.com", "o@example.com\n", "a b@example.com", "o@localhost", "@x.example", "o@", "o@x..example",
        '"o"@example.com', "=?utf-8?q?v=40x=2Eexample=2C?=@example.com", "=?us-ascii?q?v?=@example.com", "o@example.com,v@example.com", "<o@example.com>", "ö@example.com", "o" * 65 + "@x.example", "o@" + "x" * 250 + ".example",
    ],
)  # fmt: skip
async def test_an_address_that_is_none_or_two_is_refused(store: Store, address: str) -> None:
    deps = reach_of(store, Clock())
    await person(deps)
    reply = await do(deps, "owner_email_ask", address=address)
    assert (reply["status"], reply["error"]) == (400, "invalid_request")
    assert not is_email_address(address)


async def test_nobody_mails_strangers_through_the_service(store: Store) -> None:
    clock = Clock()
    deps = reach_of(store, clock)
    await person(deps)
    mine = [
        (await do(deps, "owner_email_ask", address=f"a{n}@example.com"))["status"] for n in range(7)
    ]
    assert mine == [200] * 5 + [429] * 2
    others = [replace(OTHER, user_id=f"u_{n}", address=f"0x{n:040x}") for n in range(5)]
    to_one = []
    for other in others:
        await person(deps, other)
        to_one.append((await do(deps, "owner_email_ask", other, address="V@example.com"))["status"])
    assert to_one == [200] * 3 + [429] * 2
    # Removing an address gives no link back; a day does.
    await do(deps, "owner_email_remove")
    assert (await do(deps, "owner_email_ask", address="b@example.com"))["status"] == 429
    clock.forward(hours=25)
    assert (await do(deps, "owner_email_ask", address="b@example.com"))["status"] == 200


async def test_wallets_cost_nothing_so_that_all_without_money_share_a_days_links(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.mandates.notice_receivers.UNFUNDED_LINKS", 4)
    deps = reach_of(store, Clock())
    statuses = []
    for n in range(6):
        other = replace(OTHER, user_id=f"u_{n}", address=f"0x{n:040x}")
        await person(deps, other)
        reply = await do(deps, "owner_email_ask", other, address=f"a{n}@example.com")
        statuses.append(reply["status"])
    assert statuses == [200] * 4 + [429] * 2


async def test_a_mail_server_that_refuses_is_asked_again_and_failing_is_seen(store: Store) -> None:
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    async with mail_host() as box:
        mail = client_of(box)
        await verified(deps, box, mail)
        box.answer = "451 not now"
        await notify(deps)
        begun = clock.now()
        for _ in range(4):
            await sent(deps, mail)
            clock.forward(hours=13)
        email = (await do(deps, "owner_notice_settings"))["channels"]["email"]
        assert email["failing"] is True
        assert datetime.fromisoformat(email["failing_since"]) >= begun.replace(microsecond=0)
        box.answer = "250 OK"
        await sent(deps, mail)
        email = (await do(deps, "owner_notice_settings"))["channels"]["email"]
        assert (email["failing"], email["failing_since"]) == (False, None)
    assert len({message["Message-ID"] for _, _, message in box.got[1:]}) == 1


async def test_what_waits_for_an_address_goes_to_the_one_that_takes_its_place(
    store: Store,
) -> None:
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    async with mail_host() as box:
        mail = client_of(box)
        await verified(deps, box, mail)
        box.answer = "451 not now"
        await notify(deps)
        await sent(deps, mail)
        box.answer = "250 OK"
        await verified(deps, box, mail, "new@example.com")
        clock.forward(seconds=7)
        assert await sent(deps, mail) == 1
        _sender, to, message = box.got[-1]
        assert (to, message["Subject"]) == (["new@example.com"], "An action needs your approval")
        clock.forward(hours=1)
        assert await sent(deps, mail) == 0


async def test_what_is_urgent_and_a_test_come_at_once_where_nothing_arrived_for_long(
    store: Store,
) -> None:
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    stopped = replace(ASKED, kind="mandate.stopped", key="stopped")
    answers = [503] * 8
    async with push_service(lambda: answers.pop(0) if answers else 201) as service:
        await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
        await notify(deps, stopped)
        while answers:
            await sent(deps)
            clock.forward(hours=8 * bool(answers))
        await notify(deps, replace(stopped, key="once more"))
        assert await sent(deps) == 0, "the browser is left alone"
        for ask in (lambda: notify(deps), lambda: do(deps, "owner_notice_test", channel="push")):
            await ask()
            assert await sent(deps) == 1
            clock.forward(seconds=1)


@pytest.mark.filterwarnings("ignore:Requiring AUTH:UserWarning")
async def test_a_mail_server_is_signed_in_to_and_a_wrong_password_is_no_letter() -> None:
    letter = Letter(
        to="o@example.com", kind="notice.test", message_id="msg_1", link="https://w.example/a",
        settings_link="https://w.example/b", stop_link="https://w.example/c",
        at=datetime(2026, 11, 29, 12, tzinfo=UTC),
    )  # fmt: skip
    async with mail_host(auth_required=True) as box:
        box.accounts = {b"us er": b"p@ss/word"}
        assert (await client_of(box, "us%20er:p%40ss%2Fword@").send(letter)).taken
        for login, code in (("us%20er:wrong@", 535), ("", 530)):
            told = await client_of(box, login).send(letter)
            assert told == PostResult(status=code, fault="mail_server_refused")
    assert len(box.got) == 1
    assert (await client_of(box).send(letter)).fault == "no_mail_server"


@pytest.mark.parametrize(
    "url",
    [
        "http://mail.example", "smtp://", "smtp://user:secret@mail.example", "smtps://h:99999999",
        "smtps://mail.example/box", "starttls://mail.example?x=1",
    ],
)  # fmt: skip
async def test_an_address_of_a_mail_server_that_cannot_be_is_told_without_its_password(
    url: str,
) -> None:
    with pytest.raises(ValueError, match="WALLET_SMTP_URL") as error:
        mail_server(url)
    assert "secret" not in str(error.value)


async def test_a_password_is_never_sent_before_tls() -> None:
    letter = Letter(
        to="o@example.com", kind="notice.test", message_id="msg_1", link="https://w.example/a",
        settings_link="https://w.example/b", stop_link="https://w.example/c",
        at=datetime(2026, 11, 29, 12, tzinfo=UTC),
    )  # fmt: skip
    async with mail_host() as box:
        server = mail_server(f"starttls://user:secret@127.0.0.1:{box.port}")
        result = await MailClient(server, "wallet@example.com", "wallet.example").send(letter)
    assert not result.taken
    assert box.got == []


# -- choices


async def test_quiet_hours_are_of_the_owners_zone_and_hold_back_what_does_not_break_through(
    store: Store,
) -> None:
    clock = Clock(datetime(2026, 3, 29, 20, 30, tzinfo=UTC))  # 22:30 in Berlin, in summer time
    deps = reach_of(store, clock)
    await person(deps)
    quiet = {"zone": "Europe/Berlin", "begins": "22:00", "ends": "07:00"}
    chosen = {"webhook": [], "push": ALL, "email": ALL, "quiet": quiet}
    saved = await do(deps, "owner_notice_settings_put", **chosen)
    assert saved["quiet"] == {**quiet, "approvals_break_through": True}
    async with push_service() as service:
        browser = Browser(service.url)
        await do(deps, "owner_push_subscribe", **browser.subscription)
        await notify(deps, PAUSED)
        await notify(deps, ASKED)
        assert await sent(deps) == 1
        assert browser.opened(service.got[0][1])["kind"] == "approval.asked"
        assert await sent(deps) == 0
        clock.forward(hours=8, minutes=29)
        assert await sent(deps) == 0
        clock.forward(minutes=1)
        assert await sent(deps) == 1
        assert browser.opened(service.got[1][1])["kind"] == "mandate.paused"


async def test_what_is_held_back_keeps_to_quiet_hours_that_are_changed(store: Store) -> None:
    clock = Clock(datetime(2026, 11, 29, 22, 30, tzinfo=UTC))
    deps = reach_of(store, clock)
    await person(deps)
    hours = {"zone": "UTC", "begins": "22:00", "ends": "07:00"}

    async def keep(quiet: dict[str, str] | None) -> None:
        kinds = {channel: ["mandate.stopped", "approval.asked"] for channel in CHANNELS}
        assert (await do(deps, "owner_notice_settings_put", **kinds, quiet=quiet))["status"] == 200

    await keep(hours)
    async with push_service() as service:
        await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
        for key in ("one", "two"):
            await notify(deps, replace(ASKED, kind="mandate.stopped", key=key))
        assert await sent(deps) == 0
        await keep(hours | {"ends": "22:45"})
        clock.forward(minutes=14)
        assert await sent(deps) == 0
        await keep(hours | {"ends": "23:00"})
        clock.forward(minutes=2)
        assert await sent(deps) == 0
        clock.forward(minutes=15)
        assert await sent(deps) == 1
        await keep(None)
        assert await sent(deps) == 1
        assert await sent(deps) == 0
    assert len(service.got) == 2


async def test_a_clock_that_is_put_forward_shortens_a_quiet_night() -> None:
    quiet = QuietHours(zone="Europe/Berlin", begins=22 * 60, ends=7 * 60)
    at = datetime(2026, 3, 28, 22, 0, tzinfo=UTC)
    assert quiet.over_at(at, ZoneInfo(quiet.zone)) == datetime(2026, 3, 29, 5, 0, tzinfo=UTC)
    day = QuietHours(zone="UTC", begins=60, ends=120)
    assert day.over_at(at.replace(hour=1), UTC) == at.replace(hour=2)
    assert day.over_at(at.replace(hour=2), UTC) is None


async def test_a_zone_that_the_machine_knows_no_more_holds_nothing_back(store: Store) -> None:
    """Of one owner; the notices of all others are made in the same transactions."""
    settings = NoticeSettings(quiet=QuietHours(zone="Mars/Olympus", begins=0, ends=1_439))
    assert quiet_until(settings, "push", "mandate.stopped", datetime.now(UTC)) is None


async def test_a_channel_tells_the_chosen_kinds_and_a_test_in_any_case(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    async with push_service() as service:
        browser = Browser(service.url)
        await do(deps, "owner_push_subscribe", **browser.subscription)
        chosen = {"webhook": [], "push": ["mandate.paused"], "email": []}
        await do(deps, "owner_notice_settings_put", **chosen)
        assert [await notify(deps, ASKED), await notify(deps, PAUSED)] == [0, 1]
        tested = [await do(deps, "owner_notice_test", channel="push") for _ in range(2)]
        assert [t["queued"] for t in tested] == [1, 0]
        for _ in range(2):
            await sent(deps)
        kinds = {browser.opened(body)["kind"] for _, body in service.got}
        assert kinds == {"mandate.paused", "notice.test"}


async def test_a_kind_that_came_after_the_choices_is_told_until_it_is_switched_off(
    store: Store,
) -> None:
    """Money waits for its owner, who had no box to leave empty."""
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    before = tuple(kind for kind in NOTICE_KINDS if kind not in ("order.asked", "mandate.resumed"))
    chosen = NoticeSettings(push=("mandate.paused",), email=(), webhook=(), offered=before)
    await store.write(lambda uow: uow.notice_settings.put("u_owner", chosen))
    read = await do(deps, "owner_notice_settings")
    assert read["push"] == ["mandate.paused", "order.asked"]
    assert read["email"] == ["order.asked"]
    assert read["webhook"] == ["mandate.resumed", "order.asked"]
    off = {name: [k for k in read[name] if k != "order.asked"] for name in CHANNELS}
    await do(deps, "owner_notice_settings_put", **off)
    assert (await do(deps, "owner_notice_settings"))["push"] == ["mandate.paused"]


@pytest.mark.parametrize(
    "quiet",
    [
        {"zone": "Mars/Olympus", "begins": "22:00", "ends": "07:00"},
        {"zone": "../../etc/passwd", "begins": "22:00", "ends": "07:00"},
        {"zone": "UTC", "begins": "22:00", "ends": "22:00"},
        {"zone": "UTC", "begins": "24:00", "ends": "07:00"},
    ],
)
async def test_quiet_hours_that_are_none_are_refused(store: Store, quiet: dict[str, str]) -> None:
    deps = reach_of(store, Clock())
    await person(deps)
    fields = {"webhook": [], "push": [], "email": [], "quiet": quiet}
    reply = await do(deps, "owner_notice_settings_put", **fields)
    assert (reply["status"], reply["error"]) == (400, "invalid_request")
    assert (await do(deps, "owner_notice_settings"))["quiet"] is None


async def test_what_the_operator_has_not_set_is_said_and_not_offered(store: Store) -> None:
    deps = replace(deps_of(store, Clock()), webhooks=None)
    await person(deps)
    channels = (await do(deps, "owner_notice_settings"))["channels"]
    assert [channels[n]["available"] for n in ("webhook", "push", "email")] == [False] * 3
    browser = Browser("https://push.example/x").subscription
    for name, fields in (("owner_push_subscribe", browser), ("owner_email_ask", {"address": "o@example.com"})):  # fmt: skip
        reply = await do(deps, name, **fields)
        assert (reply["status"], reply["error"]) == (409, "not_configured")


# -- the record


async def test_the_record_says_once_a_channel_whether_its_owner_was_told(
    world: World,
) -> None:
    world.deps = replace(world.deps, webhooks=WebhookSigning(KEY), email=True)
    world.deps = replace(world.deps, push=WebPush(new_private_key(), None))
    m = await working(world, approval_above_usdc="10", per_tx_cap_usdc="60")
    object.__setattr__(world.deps.config, "webhook_allow_private", True)
    answers = iter([201, 201, 410, 410])
    async with push_service(lambda: next(answers)) as service, mail_host() as box:
        mail = client_of(box)
        for n in range(2):
            fields = Browser(f"{service.url}{n}").subscription
            await world.ok("owner_push_subscribe", m.owner, **fields)
        await world.ok("owner_email_ask", m.owner, address="o@example.com")
        await sent(world.deps, mail)
        code = links(box.got[-1][2])[0].rsplit("/", 1)[1]
        await world.ok("owner_email_verify", m.owner, code=code)
        assert (await m.execute("20")).status == 202
        assert await sent(world.deps, mail, processes=2) == 3
        assert await told(m) == [("email", "delivered"), ("push", "delivered")]
        assert (await m.execute("30")).status == 202
        await sent(world.deps, mail)
    assert await told(m) == [
        ("email", "delivered"), ("email", "delivered"), ("push", "delivered"), ("push", "failed"),
    ]  # fmt: skip
    rows = json.dumps((await m.read())["events"])
    assert "example.com" not in rows
    assert service.url not in rows


async def told(m: Mandated) -> list[tuple[str, str]]:
    """The rows about notices: channel and outcome."""
    events = (await m.read())["events"]
    blocks = [e["payload"]["notice"] for e in events if "notice" in (e["payload"] or {})]
    assert {b["kind"] for b in blocks} <= {"approval.asked"}
    return sorted((b["channel"], b["outcome"]) for b in blocks)


async def test_a_mail_server_that_hangs_delays_no_push(store: Store) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps)
    async with mail_host() as box:
        await verified(deps, box, client_of(box))

    def fill(uow: UnitOfWork) -> None:
        (hook,) = uow.webhooks.of_owner(OWNER.user_id, "email")
        for n in range(AT_ONCE + 1):
            uow.identities.person(f"0x{n + 1_000:040x}", new_id=f"u_{n}", now=deps.clock.now())
            name = {"webhook_id": f"wh_{n}", "owner_id": f"u_{n}", "url": f"o{n}@example.com"}
            uow.webhooks.add(replace(hook, **name))
            enqueue_notice(uow, f"u_{n}", ASKED, deps.clock.now())

    await store.write(fill)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the other side has gone
        writer.close()

    hangs = await asyncio.start_server(hang, "127.0.0.1", 0)
    mail = client_of(Mailbox(hangs.sockets[0].getsockname()[1]))
    await person(deps, OTHER)
    async with push_service() as service, OutboundClient(private=True) as out:
        await do(deps, "owner_push_subscribe", OTHER, **Browser(service.url).subscription)
        worker = NotificationWorker(deps, LedgerFeed(store.url), out, "p_1", mail)
        async with anyio.create_task_group() as group:
            assert await worker.round(group) == ROOM["email", False]
            await notify(deps, replace(ASKED, key="urgent"), OTHER.user_id)
            assert await worker.round(group) == 1, "the letters wait, the push does not"
            with anyio.fail_after(STUCK_S / 2):
                while not service.got:
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()
    hangs.close()


@pytest.mark.parametrize("channel", ["push", "webhook"])
async def test_receivers_that_hang_delay_nobody_whose_own_answers(
    store: Store, channel: Channel
) -> None:
    deps = reach_of(store, Clock(datetime.now(UTC)))
    await person(deps, OTHER)

    def fill(uow: UnitOfWork, url: str) -> None:
        (hook,) = uow.webhooks.of_owner(OTHER.user_id or "", channel)
        for n in range(AT_ONCE):
            uow.identities.person(f"0x{n + 1_000:040x}", new_id=f"u_{n}", now=deps.clock.now())
            uow.webhooks.add(replace(hook, webhook_id=f"wh_{n}", owner_id=f"u_{n}", url=url))
            enqueue_notice(uow, f"u_{n}", ASKED, deps.clock.now())

    async with (
        push_service() as service,
        push_service(lambda: asyncio.sleep(30, 201)) as hangs,
        OutboundClient(private=True) as out,
    ):
        if channel == "push":
            await do(deps, "owner_push_subscribe", OTHER, **Browser(service.url).subscription)
        else:
            await do(deps, "owner_webhook_create", OTHER, url=service.url)
        await notify(deps, owner=OTHER.user_id or "")
        assert await sent(deps) == 1
        await store.write(lambda uow: fill(uow, hangs.url))
        worker = NotificationWorker(deps, LedgerFeed(store.url), out, "p_1", None)
        async with anyio.create_task_group() as group:
            assert await worker.round(group) == ROOM[channel, False]
            await notify(deps, replace(ASKED, key="urgent"), OTHER.user_id or "")
            assert await worker.round(group) == 1, "those that hang wait, who answers does not"
            with anyio.fail_after(STUCK_S / 2):
                while len(service.got) < 2:
                    await anyio.sleep(0.01)
            group.cancel_scope.cancel()


async def test_a_try_that_two_processes_note_is_one_row(store: Store) -> None:
    """Where a claim ran out while its process waited."""
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    async with push_service() as service:
        await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
        await notify(deps)
        now = clock.now()
        taken = await store.write(lambda uow: uow.webhooks.claim(now, now, dict.fromkeys(LANES, 5)))
        ((_, hook, delivery),) = taken
        attempt = DeliveryAttempt(at=now, ok=True)
        noted = [
            await store.write(lambda uow: uow.webhooks.tried(hook, delivery, attempt))
            for _ in range(2)
        ]
    assert noted == [True, False]


async def test_a_process_that_ends_between_sending_and_noting_sends_again_under_one_name(
    store: Store,
) -> None:
    clock = Clock(datetime.now(UTC))
    deps = reach_of(store, clock)
    await person(deps)
    async with mail_host() as box, push_service() as service:
        mail = client_of(box)
        await verified(deps, box, mail)
        await do(deps, "owner_push_subscribe", **Browser(service.url).subscription)
        await notify(deps)
        worker = NotificationWorker(deps, LedgerFeed(store.url), None, "p_1", mail)  # type: ignore[arg-type]
        until = clock.now() + timedelta(seconds=60)
        taken = await store.write(
            lambda uow: uow.webhooks.claim(clock.now(), until, dict.fromkeys(LANES, 5))
        )
        async with OutboundClient(private=True) as out:
            worker._out = out
            for _, hook, delivery in taken:  # it sends, and is no more
                assert (await worker._outcome(hook, delivery)).taken
        assert await sent(deps, mail) == 0  # nobody else, while the claim lasts
        clock.forward(seconds=61)
        assert await sent(deps, mail, processes=2) == 2
        assert await sent(deps, mail) == 0
    assert len({headers["Topic"] for headers, _ in service.got}) == 1
    names = [message["Message-ID"] for _, _, message in box.got[1:]]
    assert (len(names), len(set(names))) == (2, 1)
