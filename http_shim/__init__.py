"""An aiohttp application over the catalogue."""
