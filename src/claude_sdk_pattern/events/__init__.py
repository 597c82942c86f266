"""The tape: typed events, the append-only log they are kept in, and the hub that hands them out live."""
