"""The human screens: pages over the catalogue, with no data of their own."""
