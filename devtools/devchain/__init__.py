"""A small development chain on py-evm: real bytecode, JSON-RPC, time travel, snapshots, reorgs."""

from devtools.devchain.blocks import RpcError
from devtools.devchain.core import DevChain
from devtools.devchain.http import serve, serve_in_thread
from devtools.devchain.rpc import answer

__all__ = ["DevChain", "RpcError", "answer", "serve", "serve_in_thread"]
