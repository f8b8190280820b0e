"""What is believed of a node's newest block and of its headers, without a chain behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest

from chain import quorum
from chain.adapter import ChainConfig, EvmChain
from chain.agreed_view import AgreedView, _agreeing_heads, agreed_view
from chain.quorum import query_each_node
from chain.reads.blocks import DRIFT
from chain.rpc.decoding import Header
from chain.rpc.http_transport import HttpTransport
from devtools.devchain import DevChain
from devtools.devchain import answer as truth
from domain.chain_facts import BlockStamp
from domain.refusals import Refused

pytestmark = pytest.mark.anyio
AT = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DEEP = 3
CHAIN_ID = 31337
Answer = Callable[[str, list[Any]], Any]
Opened = Callable[..., EvmChain]


class Told(HttpTransport):
    """A node that a test answers for."""

    def __init__(self, answer: Answer):
        super().__init__("http://127.0.0.1:9", 0)
        self.answer = answer

    async def _post(self, request: Any) -> object:
        each = request if isinstance(request, list) else [request]
        told = [{"id": q["id"], "result": self.answer(q["method"], q["params"])} for q in each]
        return told if isinstance(request, list) else told[0]


def raw(number: int, at: datetime, **changes: Any) -> dict[str, Any]:
    """A header without what its hash could be checked by."""
    names = {"hash": f"0x{number:064x}", "parentHash": f"0x{number - 1:064x}"}
    return names | {"number": hex(number), "timestamp": hex(int(at.timestamp()))} | changes


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Chains whose nodes answer as they are told to."""
    chains: list[EvmChain] = []

    def of(*answers: Answer) -> EvmChain:
        urls = [f"http://127.0.0.1:9/{n}" for n in range(len(answers))]
        facts = ChainConfig(CHAIN_ID, urls[0], rpc_urls=tuple(urls[1:]), confirmations=DEEP)
        chain = EvmChain(facts)
        for rpc, answer in zip(chain.node().clients, answers, strict=True):
            rpc._transport = Told(answer)
        chains.append(chain)
        return chain

    yield of
    for chain in chains:
        await chain.node().close()


class Newest:
    """A node's answers: its newest block, which a test moves, and any other by its number."""

    def __init__(self, number: int, at: datetime = AT, chain_id: int = CHAIN_ID):
        self.number, self.at, self.chain_id = number, at, chain_id
        self.lost: set[int] = set()

    def __call__(self, method: str, params: list[Any]) -> Any:
        if method == "eth_chainId":
            return hex(self.chain_id)
        number = self.number if params[0] == "latest" else int(params[0], 16)
        return None if number in self.lost else raw(number, self.at)


async def told_of(chain: EvmChain, node: Newest, number: int, at: datetime = AT) -> int:
    """The newest block that is believed, where the node tells this one."""
    node.number, node.at = number, at
    return (await chain.newest()).block.number


async def test_a_node_may_fall_back_by_twice_the_confirmations_and_no_further(
    opened: Opened,
) -> None:
    chain = opened(node := Newest(100))
    assert await told_of(chain, node, 100) == 100
    assert await told_of(chain, node, 100 - 2 * DEEP) == 100 - 2 * DEEP
    with pytest.raises(Refused, match="chain_unavailable") as caught:
        await told_of(chain, node, 99 - 2 * DEEP)
    assert f"behind: block {99 - 2 * DEEP} after 100" in caught.value.refusal.reason


async def test_a_lower_block_of_a_later_time_is_the_newest(opened: Opened) -> None:
    chain = opened(node := Newest(100))
    await told_of(chain, node, 100)
    later = AT + timedelta(seconds=1)
    assert await told_of(chain, node, 50, later) == 50
    assert await told_of(chain, node, 50 - 2 * DEEP, later) == 50 - 2 * DEEP
    with pytest.raises(Refused):
        await told_of(chain, node, 49 - 2 * DEEP, later)


@pytest.mark.parametrize(
    ("forgets", "told"),
    [
        (False, {"now": AT - DRIFT}),
        (True, {"now": AT - DRIFT - timedelta(seconds=1)}),
        (False, {"agreed": 100 - 2 * DEEP}),
        (True, {"agreed": 99 - 2 * DEEP}),
    ],
)
async def test_a_block_of_the_future_or_far_above_the_others_is_forgotten(
    opened: Opened, forgets: bool, told: dict[str, Any]
) -> None:
    chain = opened(node := Newest(100))
    await told_of(chain, node, 100)
    chain.forget_ahead(**told)
    with nullcontext() if forgets else pytest.raises(Refused):
        assert await told_of(chain, node, 10) == 10


@pytest.mark.parametrize(
    ("ahead", "rounds"),
    [({"number": 200, "at": AT}, 2), ({"number": 200, "at": AT + timedelta(hours=1)}, 1)],
)
async def test_one_that_told_a_block_that_cannot_be_is_believed_again(
    opened: Opened, ahead: dict[str, Any], rounds: int
) -> None:
    """One of the future is forgotten at once, one far above the others once they are asked."""
    nodes = [Newest(100), Newest(100), Newest(100)]
    chain = opened(*nodes)
    await told_of(chain.views[0], nodes[0], **ahead)
    nodes[0].number, nodes[0].at = 100, AT
    for _ in range(rounds):
        seen = await agreed_view(chain, AT + timedelta(seconds=1))
    assert (seen.number, sorted(seen.heads)) == (100, [0, 1, 2])
    assert not list(chain.node().fault_names())


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A header with all of its fields."""
    chain = DevChain(lambda: int(AT.timestamp()), CHAIN_ID)
    chain.mine()
    asked = {"id": 1, "method": "eth_getBlockByNumber", "params": [hex(1), False]}
    return dict(truth(chain, asked)["result"])  # type: ignore[index]  # one question


async def test_a_header_that_does_not_hash_to_its_name_is_none_and_the_chain_is_asked_again(
    opened: Opened, whole: dict[str, Any]
) -> None:
    block, chain_id = dict(whole), CHAIN_ID

    def answer(method: str, params: list[Any]) -> Any:
        return hex(chain_id) if method == "eth_chainId" else block

    chain = opened(answer)
    header = await chain.header(1)
    assert header is not None
    assert header.proved
    assert (await chain.headers([1], require_all_fields=True))[1] == header
    block["timestamp"], chain_id = hex(int(block["timestamp"], 16) + 1), 1
    with pytest.raises(Refused) as caught:
        await chain.header(1)
    assert "serves chain 1" in caught.value.refusal.reason
    chain_id = CHAIN_ID
    for ask in (lambda: chain.header(1), lambda: chain.blocks(1), lambda: chain.headers([1])):
        with pytest.raises(Refused) as caught:
            await ask()
        assert "does not hash to its block's name" in caught.value.refusal.reason
    del block["gasUsed"]
    assert await chain.header(1) is not None
    with pytest.raises(Refused) as caught:
        await chain.headers([1], require_all_fields=True)
    assert "does not hash to its block's name" in caught.value.refusal.reason


async def test_who_leaves_a_field_of_its_header_out_is_left_out(
    opened: Opened, whole: dict[str, Any]
) -> None:
    less = {name: value for name, value in whole.items() if name != "gasUsed"}

    def of(block: dict[str, Any]) -> Answer:
        return lambda method, _: hex(CHAIN_ID) if method == "eth_chainId" else block

    chain = opened(of(whole), of(less), of(whole))
    assert sorted((await agreed_view(chain, AT)).heads) == [0, 2]


def head(number: int, proved: bool | None) -> Header:
    return Header(block=BlockStamp(number, f"0x{number:064x}", AT), parent="0x", proved=proved)


@pytest.mark.parametrize("unproved", [False, None])
async def test_who_leaves_out_what_proves_a_header_is_left_out_where_most_are_proved(
    opened: Opened, unproved: bool | None
) -> None:
    nodes = opened(Newest(1), Newest(1), Newest(1)).node()
    heads = {0: head(7, True), 1: head(9, unproved), 2: head(7, True)}
    assert sorted(_agreeing_heads(nodes, heads, 2)) == [0, 2]
    assert dict(nodes.fault_names()) == {2: "tells headers that do not hash to their names"}


async def test_where_most_headers_cannot_be_proved_all_of_them_count(opened: Opened) -> None:
    nodes = opened(Newest(1), Newest(1), Newest(1)).node()
    heads = {0: head(7, True), 1: head(7, None), 2: head(7, None)}
    assert _agreeing_heads(nodes, heads, 2) == heads
    assert not list(nodes.fault_names())


async def test_who_lost_the_agreed_block_does_no_step(opened: Opened) -> None:
    nodes = [Newest(7), Newest(7), Newest(5)]
    chain = opened(*nodes)
    nodes[0].lost.add(5)
    at = AgreedView(chain, 5, {n: head(node.number, None) for n, node in enumerate(nodes)})

    async def block(_: EvmChain, header: Header) -> int:
        return header.block.number

    assert await at.step(block) == 5
    lost = "failed a step: the node lost a block below its newest"
    assert dict(chain.node().fault_names()) == {1: lost}


async def test_who_is_left_out_does_no_step_either(opened: Opened) -> None:
    chain = opened(Newest(5), Newest(5), Newest(5))
    chain.node().note(1, "another fork", "is on another fork at block 5")
    asked = []

    async def fails(view: EvmChain, _: Header) -> None:
        asked.append(chain.views.index(view))
        raise view.node().unavailable("no logs")

    with pytest.raises(Refused, match="chain_unavailable"):
        await AgreedView(chain, 5, {n: head(5, None) for n in range(3)}).step(fails)
    assert asked == [0, 2]


async def test_a_chain_is_proved_where_one_node_serves_it(opened: Opened) -> None:
    nodes = [Newest(5, chain_id=1), Newest(5)]
    chain = opened(*nodes)
    await chain.node().prove()
    nodes[1].chain_id = 1
    with pytest.raises(Refused) as caught:
        await chain.node().prove()
    assert "serves chain 1" in caught.value.refusal.reason


async def test_who_is_late_again_and_again_is_left_alone_for_a_while(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quorum, "LATE_S", 0)
    chain = opened(Newest(5), Newest(5), Newest(5))
    slow = chain.node().clients[0]
    genuine = slow._transport.one

    async def never(question: Any) -> object:
        if question[0] != "eth_chainId":
            await anyio.sleep_forever()
        return await genuine(question)

    monkeypatch.setattr(slow._transport, "one", never)
    for _ in range(3):
        assert not slow.is_open
        assert sorted(await query_each_node(chain, lambda view: view.newest())) == [1, 2]
    assert slow.is_open
    assert "no answer in time" in str(slow._last_problem)
