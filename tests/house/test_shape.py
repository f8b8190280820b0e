"""The shape of the code: small modules, small functions, no circles, nothing that nobody calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.house.sources import FUNCTIONS, PACKAGES, ROOT, name_of, nodes, paths, tree

MODULE_LINES, FUNCTION_LINES = 600, 60
# The reader of notes with its forms. Its bound is 1,200; until it is there, it only shrinks.
READER_LINES = 1_474

# What no line of shipped code names, and why it is there.
FOR_OTHERS: Mapping[str, str] = {
    "storage.integrity.ledger_check.verify_export": "proves an export offline: for whoever was handed one",
}

# What Authlib calls of its client, code, token, grants, endpoint and server.
AUTHLIBS = """
_Client.get_client_id
_Client.get_default_redirect_uri
_Client.get_allowed_scope
_Client.check_redirect_uri
_Client.check_client_secret
_Client.check_endpoint_auth_method
_Client.check_response_type
_Client.check_grant_type
_Code.get_redirect_uri
_Code.get_scope
_Token.check_client
_Token.get_scope
_CodeGrant.query_authorization_code
_CodeGrant.authenticate_user
_CodeGrant.delete_authorization_code
_RefreshGrant.authenticate_refresh_token
_RefreshGrant.authenticate_user
_RefreshGrant.revoke_old_credential
_Revocation.query_token
_Revocation.revoke_token
_Server.query_client
_Server.create_oauth2_request
_Server.handle_response
_Server.handle_error_response
_Server.generate_token
"""
# What py-evm asks and tells its accounts.
PY_EVMS = """
account_exists
account_is_empty
delete_account
delete_code
delete_storage
get_code_hash
has_root
increment_nonce
is_address_warm
is_storage_warm
lock_changes
mark_address_warm
mark_storage_warm
set_nonce
set_storage
touch_account
"""
# Methods that no line of shipped code calls by name, and who does.
CALLED_BY_OTHERS: Mapping[str, str] = {
    "app.translated._Compiled.visit_Call": "Jinja2's visitor of what it parsed",
    "app.translated._Compiled.visit_Output": "Jinja2's visitor of what it parsed",
    "domain.refusals._Known.get_value": "string.Formatter",
    "http_shim.admission._Nowhere.expect_handler": "aiohttp",
    "http_shim.connections.Connection.handle_error": "aiohttp",
    "http_shim.response_cache.ResponseCache.bytes_held": "tests of the bound on what is held",
    "http_shim.lazy_routes.LazyRoutes.add_prefix": "aiohttp",
    "http_shim.lazy_routes.LazyRoutes.get_info": "aiohttp",
    "http_shim.lazy_routes.LazyRoutes.raw_match": "aiohttp",
    "http_shim.lazy_routes.LazyRoutes.url_for": "aiohttp",
    "server.mcp_api.request_state.SealedState.unseal": "the MCP SDK, by its protocol of a codec",
    "server.mcp_api.server.WalletServer.server_info_stamp": "the MCP SDK, on each answer",
    "server.settings.Settings.settings_customise_sources": "pydantic-settings",
    "venue.cache.Cache.bytes_held": "tests of the bound on what is held",
    **{f"tools.agents.authorization_server.{name}": "Authlib" for name in AUTHLIBS.split()},
    **{f"devtools.devchain.state.Accounting.{name}": "py-evm" for name in PY_EVMS.split()},
}


def _module(path: Path) -> str:
    return name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def test_every_package_of_ours_is_listed() -> None:
    """Folders with Python in them are shipped packages, or are known to be something else."""
    folders = {p.parent.name for p in ROOT.glob("*/*.py")}
    assert folders - set(PACKAGES) == {"tests", "bench", "mcpb", "clients", "deploy"}
    for path in paths():
        assert (path.parent / "__init__.py").is_file(), path


def _longer() -> Iterator[tuple[str, int]]:
    for path in paths():
        lines = len(path.read_text().splitlines())
        if lines > MODULE_LINES:
            yield name_of(path), lines
        for node in nodes(path):
            if isinstance(node, FUNCTIONS):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f"{name_of(path)}::{node.name}", lines


@pytest.mark.slow
def test_modules_and_functions_are_small() -> None:
    longer = dict(_longer())
    assert longer == {}


def test_the_reader_of_notes_does_not_grow() -> None:
    reader = [p for p in paths() if "/mandates/notes/" in p.as_posix()]
    assert len(reader) >= 5
    lines = sum(len(path.read_text().splitlines()) for path in reader)
    assert lines <= READER_LINES, f"{lines} lines"


def _imports(path: Path, known: set[str]) -> set[str]:
    """The modules of ours that a module imports, wherever in it."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{a.name}" for a in node.names} & known
            found |= inner or {node.module}
    return found & known


@pytest.mark.slow
def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {_module(p): p for p in paths()}
    arrows = {name: _imports(path, set(modules)) - {name} for name, path in modules.items()}
    while leaves := {name for name, to in arrows.items() if not to & arrows.keys()}:
        arrows = {name: to for name, to in arrows.items() if name not in leaves}
    assert arrows.keys() == set()


def _definitions(path: Path) -> Iterator[str]:
    """Names that a module defines at its top and that somebody has to name to use them."""
    for node in tree(path).body:
        if isinstance(node, FUNCTIONS):
            if not node.decorator_list:  # a decorator may have registered it
                yield node.name
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _words(path: Path) -> set[str]:
    """Names that a module uses, and the words of its short strings (entry points, annotations)."""
    used: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            used |= set(re.findall(r"\w+", node.value)) if len(node.value) < 200 else set()
    return used


@pytest.mark.slow
def test_nothing_is_defined_that_nobody_calls() -> None:
    shipped = [p for p in paths() if "versions" not in p.parts]
    used = {word for path in shipped for word in _words(path)} | {"__all__"}
    unused = {
        f"{_module(path)}.{name}"
        for path in shipped
        for name in _definitions(path)
        if name not in used
    }
    assert unused - set(FOR_OTHERS) == set()
    assert set(FOR_OTHERS) <= unused, "an exception that nothing needs any more"


def _methods(path: Path) -> Iterator[tuple[str, str]]:
    """(class, method) of what somebody has to name to call it; a decorator of a library calls."""
    for c in nodes(path):
        for n in c.body if isinstance(c, ast.ClassDef) else ():
            if not isinstance(n, FUNCTIONS) or n.name[:2] == "__":
                continue
            if not any(isinstance(d, ast.Call) for d in n.decorator_list):
                yield c.name, n.name


def _repositories() -> Mapping[str, str]:
    """The classes of storage/repositories, each with its name in a unit of work."""
    found: dict[str, str] = {}
    for n in nodes(ROOT / "storage" / "unit_of_work.py"):
        if isinstance(n, ast.FunctionDef) and n.decorator_list and isinstance(n.returns, ast.Name):
            found[n.returns.id] = n.name
    return found


@cache
def _pairs(path: Path) -> frozenset[tuple[str, str]]:
    """(whose, what) of every attribute that a module names: `uow.ledger.page` is (ledger, page)."""
    found: set[tuple[str, str]] = set()
    for n in nodes(path):
        if isinstance(n, ast.Attribute) and isinstance(n.value, (ast.Attribute, ast.Name)):
            found.add((n.value.attr if isinstance(n.value, ast.Attribute) else n.value.id, n.attr))
    return frozenset(found)


@pytest.mark.slow
def test_no_method_is_there_that_nobody_calls() -> None:
    shipped = [p for p in paths() if "versions" not in p.parts]
    used = {word for path in shipped for word in _words(path)}
    said = {pair for path in shipped for pair in _pairs(path)}
    repositories = _repositories()
    unused: set[str] = set()
    for path in shipped:
        of_rows = path.parent.name == "repositories"
        for owner, name in _methods(path):
            # `get` is a word of many classes: of a repository it has to be said with its name.
            at = repositories.get(owner) if of_rows else None
            called = (at, name) in said or ("self", name) in _pairs(path)
            if name not in used or (at and not called):
                unused.add(f"{_module(path)}.{owner}.{name}")
    assert unused - set(CALLED_BY_OTHERS) == set()
    assert set(CALLED_BY_OTHERS) <= unused, "an exception that nothing needs any more"


@pytest.mark.parametrize("family", ["mandates", "actions", "agents", "public", "trading"])
def test_no_family_imports_another(family: str) -> None:
    others = {"mandates", "actions", "agents", "public", "trading", "sign_in"} - {family}
    known = {_module(p) for p in paths()}
    for path in sorted((ROOT / "tools" / family).rglob("*.py")):
        seen = {m.split(".")[1] for m in _imports(path, known) if m.startswith("tools.")}
        assert not seen & others, path


# Declarations of many values, which nobody can read by their order.
NAMED: Mapping[str, str] = {
    "tools/model/operation.py": "Operation",
    "domain/refusal_kinds/kind.py": "RefusalKind",
    "domain/ledger/events/event.py": "Event NewEvent",
    "domain/ledger/events/chain_events.py": "ChainEvent",
    "domain/ledger/events/payload_schema.py": "Form",
    "domain/ledger/state/ledger_state.py": "LedgerState Breached",
    "domain/ledger/state/measured.py": "MeasuredBook MeasuredRow Mark Seen",
    "domain/ledger/state/positions.py": "MeasuredPosition",
    "domain/ledger/state/movements.py": "Movement",
    "domain/ledger/state/day_totals.py": "DayTotals RolledDay Interval",
}


def test_declarations_of_many_values_take_them_by_name() -> None:
    for path, names in NAMED.items():
        made = {n.name: n for n in nodes(ROOT / path) if isinstance(n, ast.ClassDef)}
        for name in names.split():
            (decorator,) = [d for d in made[name].decorator_list if "dataclass" in ast.unparse(d)]
            assert "kw_only=True" in ast.unparse(decorator), name


def test_no_two_modules_of_payloads_name_the_same_keys() -> None:
    """A payload's keys are its fields; who reads and writes it asks the one table about them."""
    keys = ("data_hash", "reason_source", "signer_type", "agent_fee", "next_at")
    rooms = [ROOT / "domain" / "ledger", ROOT / "domain" / "reads"]
    for key in keys:
        holders = {
            path.name
            for room in rooms
            for path in room.rglob("*.py")
            for node in nodes(path)
            if isinstance(node, ast.Constant) and node.value == key
        }
        assert holders <= {"payload_schema.py", "claimed.py", "progress.py"}, key
