"""Views: a module a page, frozen values made by pure functions out of replies."""
