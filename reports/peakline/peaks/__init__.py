"""Uses of peaks: MFU, datasheets, snippets for other tools, and storage rates."""
