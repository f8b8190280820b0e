"""Page handlers: the operations of each page, and the target of a form; a module a family."""
