"""What sign-ins leave is found by its end, and by whose it is."""

from alembic import op

revision = "0034"
down_revision = "0032"


def upgrade() -> None:
    """Index the texts by their end, and sessions by person."""
    op.create_index("challenges_expiry", "challenges", ["expires_at"])
    op.create_index("sessions_user", "sessions", ["user_id"])
