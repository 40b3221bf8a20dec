"""Optional libraries, one a file or a package, each imported by whoever wants it."""

__all__: list[str] = []
