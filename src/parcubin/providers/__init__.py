"""Compilation providers: what turns PTX into CUBIN and links it."""
