"""The process that holds keeper keys, and the line to it. Nothing of it but the line runs in a
serving process."""
