"""Pages for people: made on the server, with one style and one script of the service's own."""
