"""Tables, migrations, the unit of work and the queries; SQLite and PostgreSQL."""
