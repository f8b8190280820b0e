"""E-mail: the operator's mail server, and the short letters that it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP as LINES
from html import escape
from typing import TYPE_CHECKING, Final

from server.mail_server import MailServer
from server.outbound import PostResult

if TYPE_CHECKING:
    from aiosmtplib import SMTP

    from domain.mandates.notice_choices import MessageKind

SEND_S: Final = 20
HEAD_LINE_MAX: Final = 998  # RFC 5322, 2.1.1
BODY_LINE_MAX: Final = 76  # RFC 2045, 6.7
_CODING: Final = "quoted-printable"  # which passes every mail server, whatever the letters


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One e-mail: what it says, its links, the language that its reader asked for, and when it is
    sent.
    """

    to: str
    kind: MessageKind
    message_id: str
    link: str
    settings_link: str
    stop_link: str
    at: datetime
    language: str | None = None


class MailClient:
    """Hands letters to the operator's mail server, each within its bound."""

    def __init__(self, server: MailServer, sender: str, own_host: str):
        self._server, self._sender, self._own_host = server, sender, own_host

    async def send(self, letter: Letter) -> PostResult:
        """Send one. Errors: none; what goes wrong is the outcome."""
        message = written(letter, self._sender, self._own_host)
        return await self._done(
            lambda smtp: smtp.sendmail(self._sender, [letter.to], message.as_bytes())
        )

    async def greet(self) -> PostResult:
        """Connect and sign in, and send nothing. Errors: none."""
        return await self._done(lambda smtp: smtp.noop())

    async def _done(self, work: Callable[[SMTP], Awaitable[object]]) -> PostResult:
        import aiosmtplib

        server, accepted = self._server, PostResult(status=250)
        result: PostResult | None = None
        try:
            async with (
                asyncio.timeout(SEND_S),
                aiosmtplib.SMTP(
                    hostname=server.host,
                    port=server.port,
                    username=server.username,
                    password=server.password,
                    use_tls=server.scheme == "smtps",
                    start_tls=server.scheme == "starttls",
                    local_hostname=self._own_host,
                    timeout=SEND_S,
                ) as smtp,
            ):
                await work(smtp)
                # What goes wrong with the farewell takes nothing back.
                result = accepted
        except aiosmtplib.SMTPRecipientsRefused as error:
            code = error.recipients[0].code if error.recipients else None
            return result or PostResult(status=code, fault="recipient_refused")
        except aiosmtplib.SMTPResponseException as error:
            return result or PostResult(status=error.code, fault="mail_server_refused")
        except TimeoutError:
            return result or PostResult(fault="timeout")
        except (aiosmtplib.SMTPException, OSError):
            return result or PostResult(fault="no_mail_server")
        return accepted


def written(letter: Letter, sender: str, own_host: str) -> EmailMessage:
    """The letter as it is sent, in its language: plain text, and the same as HTML."""
    from app.words import notices as words
    from app.words.text import ENGLISH, LANGUAGES, use_language

    language = next((code for code in LANGUAGES if code == letter.language), ENGLISH)
    use_language(language)
    subject, said = words.letter_subject(letter.kind), words.letter_text(letter.kind)
    message = EmailMessage(policy=LINES.clone(max_line_length=BODY_LINE_MAX))
    message["From"] = f"{words.SENDER} <{sender}>"
    message["To"] = letter.to
    message["Subject"] = subject
    message["Date"] = letter.at
    # The same in every try, so that a mailbox that got it twice can show it once.
    message["Message-ID"] = f"<{letter.message_id}@{own_host}>"
    message["Auto-Submitted"] = "auto-generated"
    message["List-Unsubscribe"] = f"<{letter.stop_link}>"
    names = (said.open, str(words.LETTER_SETTINGS), str(words.LETTER_STOP))
    links = tuple(zip(names, (letter.link, letter.settings_link, letter.stop_link), strict=True))
    end = str(words.LETTER_END)
    lines = (said.first, *(f"{name}:\n{link}" for name, link in links), end)
    message.set_content("\n\n".join(lines) + "\n", cte=_CODING)
    anchors = (f'<p><a href="{escape(link)}">{escape(name)}</a></p>' for name, link in links)
    body = f"<p>{escape(said.first)}</p>{''.join(anchors)}<p>{escape(end)}</p>"
    page = f'<!doctype html><html lang="{language}"><title>{escape(subject)}</title>{body}</html>'
    message.add_alternative(page, subtype="html", cte=_CODING)
    # After the parts, for a header of content goes with the content that is there.
    message["Content-Language"] = language
    # A longer line of the head would be written as words in a coding, which no address is read of.
    message.policy = LINES.clone(max_line_length=HEAD_LINE_MAX)
    return message
