"""Peaks in use: MFU, datasheets, other tools' snippets, and what storage has to deliver."""
