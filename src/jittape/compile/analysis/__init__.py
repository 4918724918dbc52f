"""Facts about ops and programs that passes and lowering decide by."""
