"""Mandate queries: many mandates in one statement, on either database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# A plan is made once, perhaps while the table is empty, and kept while it grows: each vault is
# looked for by its key. Locked in the order of the ids, two that lock some never wait for each
# other in a circle; whoever waited for one looks at the row as it has become.
BY_VAULTS: Final[Mapping[str, str]] = {
    "postgresql": """
SELECT m.* FROM (
  SELECT i.public_id, v.vault FROM unnest(:vaults::text[]) AS v(vault) CROSS JOIN LATERAL (
    SELECT public_id FROM mandates WHERE chain_id = :chain AND vault_lower = v.vault OFFSET 0
  ) i ORDER BY i.public_id
) q CROSS JOIN LATERAL (
  SELECT body, version, refreshed_at, differs_at FROM mandates
  WHERE public_id = q.public_id AND vault_lower = q.vault FOR UPDATE
) m""",
    "sqlite": "SELECT body, version, refreshed_at, differs_at FROM mandates "
    "WHERE chain_id = :chain AND vault_lower IN (SELECT value FROM json_each(:vaults))",
}
