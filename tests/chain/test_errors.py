"""Every error of our contracts: a refusal of the service, or known to be none."""

from __future__ import annotations

import json
from importlib.resources import files

from eth_abi import encode

from chain.contracts.abi_codec import decode_revert, refusal_of
from domain.text import text_problem

# A target's or a library's own failure, or a call that the service never makes up: shown by name, with its arguments.
NO_REFUSAL = {
    "AgentNotInTerms", "ApprovalNeeded", "ApprovalUsed", "BadTarget", "BadTerms", "LensGas", "NotAVault", "ProbeFailed", "ProbeGas", "TargetReverted", "UnfairExit",
    "UsdcLeft",
    # OpenZeppelin
    "CloneArgumentsTooLong", "Create2EmptyBytecode", "FailedDeployment", "InsufficientBalance", "InvalidShortString",
    "ReentrancyGuardReentrantCall", "SafeCastOverflowedUintDowncast", "SafeERC20FailedOperation", "StringTooLong",
}  # fmt: skip


def test_every_error_of_the_contracts_is_a_refusal_or_known_to_be_none() -> None:
    named = set()
    for contract in ("MandateVault", "MandateVaultFactory", "VaultLens"):
        told = json.loads(files("chain").joinpath("abi", f"{contract}.json").read_text())
        named |= {
            e["name"]
            for e in (told if isinstance(told, list) else told["abi"])
            if e["type"] == "error"
        }
    assert {error for error in named if refusal_of(error) is None} == NO_REFUSAL


def test_a_contracts_own_words_are_bounded_and_hide_nothing() -> None:
    chosen = "Approved.\n\u202eyaw rehto eht daer\u200b" + "x" * 500
    data = bytes.fromhex("08c379a0") + encode(["string"], [chosen])
    told = decode_revert(data)
    assert (told.name, told.code) == ("Error", None)
    said = str(told.args["message"])
    assert text_problem(said, lines=False) is None
    assert said.startswith("Approved.\\u{000A}\\u{202E}yaw")
    assert len(said) == 200
