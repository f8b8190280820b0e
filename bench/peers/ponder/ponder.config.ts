import { createConfig, factory } from "ponder";
import { parseAbi, parseAbiItem } from "viem";

const created = parseAbiItem(
  "event MandateCreated(bytes32 indexed publicIdHash, address indexed owner, address indexed vault, address agent, bytes32 digest, string publicId)",
);

export default createConfig({
  database: { kind: "postgres", connectionString: process.env.DATABASE_URL },
  chains: { local: { id: 31337, rpc: process.env.RPC_URL } },
  contracts: {
    Vault: {
      chain: "local",
      abi: parseAbi([
        "event Deposited(bytes32 indexed mandate, address indexed from, uint256 amount, uint256 totalDeposited)",
      ]),
      address: factory({ address: process.env.FACTORY as `0x${string}`, event: created, parameter: "vault" }),
      startBlock: 0,
    },
  },
});
