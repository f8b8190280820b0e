"""JSON-RPC: clients, node pools, deadlines and errors."""
