"""A small development chain on py-evm: real bytecode, JSON-RPC, time travel, snapshots, reorgs."""

from chain.devchain.blocks import RpcError
from chain.devchain.core import DevChain
from chain.devchain.http import serve, serve_in_thread
from chain.devchain.rpc import answer

__all__ = ["DevChain", "RpcError", "answer", "serve", "serve_in_thread"]
