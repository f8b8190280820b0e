"""Which operations each page asks, and where a form leads; a module a family of pages."""
