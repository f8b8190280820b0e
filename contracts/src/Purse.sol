// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MerkleProof} from "@openzeppelin/contracts/utils/cryptography/MerkleProof.sol";
import {IApprovals} from "./MandateTypes.sol";

/// @notice What a purse and its hub ask of a vault.
interface IMandateVault {
    function agent() external view returns (address); // zero while paused, stopped or settled
    function settled() external view returns (bool);
}

/// @notice What a hub asks of the factory whose vaults it serves.
interface IVaultFactory is IApprovals {
    function IMPLEMENTATION() external view returns (address);
    function APPROVALS_ON_CHAIN() external view returns (bool);
    function USDC() external view returns (IERC20);
}

interface IUsdc3009 is IERC20 {
    function DOMAIN_SEPARATOR() external view returns (bytes32);
}

interface IPurseHub {
    function voided(address vault, bytes32 mandate, uint32 epoch) external;
}

/// @notice What never changes for a purse, in its own bytecode.
struct PurseConfig {
    address vault;
    address owner;
    uint256 perPayment;
    uint256 perDay;
    uint256 float;
    uint256 endsAt;
    uint256 approvalAbove; // zero: nothing needs an approval here
    bytes32 payees; // zero: anybody
    bytes32 mandate;
}

/// @notice One payment, as EIP-3009 has it; `from` is the purse.
struct Bill {
    address to;
    uint256 value;
    uint256 validAfter;
    uint256 validBefore;
    bytes32 nonce; // its first four bytes are the purse's epoch
}

/// @notice What a bill may bring beside the agent's signature.
struct Grant {
    bytes32[] proof; // that the payee is on the list
    uint64 until; // how long the owner's approval is good
    bytes signed; // the owner's ApproveAction
}

/// @notice Views that answer a bare question only. A value probe asks with a holder, and would take an address or a limit for
///         what a position is worth.
abstract contract Unprobed {
    error NotAProbe();

    modifier unprobed() {
        if (msg.data.length != 4) revert NotAProbe();
        _;
    }
}

/// @title The pocket money of one vault: the payer of EIP-3009 transfers.
/// @notice USDC asks it by ERC-1271, and it agrees to nothing but a bill of its own within the limits, signed by the agent that
///         the vault names now, and above the approval amount by the owner too. It pays nothing itself; it moves USDC for its hub.
contract Purse is Unprobed {
    using SafeERC20 for IERC20;

    error NotAuthorized(address caller);

    bytes32 private constant TRANSFER_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes4 private constant YES = 0x1626ba7e;
    bytes4 private constant NO = 0xffffffff;
    uint256 private constant MAX_WINDOW = 1 hours;
    uint256 private constant BILL = 5 * 32;
    uint256 private constant BARE = BILL + 65;

    IPurseHub private immutable HUB = IPurseHub(msg.sender);
    IUsdc3009 private immutable USDC;
    IVaultFactory private immutable FACTORY;
    address private immutable SELF = address(this);

    uint32 private _epoch;

    constructor(IUsdc3009 usdc, IVaultFactory factory) {
        (USDC, FACTORY) = (usdc, factory);
    }

    function config() external view unprobed returns (PurseConfig memory) {
        return _config();
    }

    /// @notice What the first four bytes of a bill's nonce must be.
    function epoch() external view unprobed returns (uint32) {
        return _epoch;
    }

    /// @notice ERC-1271. `signature`: the five words of the bill, the agent's 65 bytes, and where needed
    ///         abi.encode(bytes32[] proof, uint64 until, bytes ownersSignature). Bytes of any other form are answered with a no.
    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (address(this) == SELF || signature.length < BARE) return NO;
        (bool clean, Bill memory b) = _billIn(signature);
        if (!clean) return NO;
        bytes32 message = keccak256(
            abi.encode(TRANSFER_TYPEHASH, address(this), b.to, b.value, b.validAfter, b.validBefore, b.nonce)
        );
        if (hash != keccak256(abi.encodePacked(hex"1901", USDC.DOMAIN_SEPARATOR(), message))) return NO;
        PurseConfig memory c = _config();
        if (!_timely(b, c) || !_payable(b, c)) return NO;
        (address by, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(hash, signature[BILL:BARE]);
        if (err != ECDSA.RecoverError.NoError || by != IMandateVault(c.vault).agent()) return NO;
        return _granted(b, c, message, signature[BARE:]) ? YES : NO;
    }

    /// @notice Makes every bill of the epoch void. Owner or agent.
    function void() external {
        PurseConfig memory c = _config();
        if (msg.sender != c.owner && msg.sender != IMandateVault(c.vault).agent()) revert NotAuthorized(msg.sender);
        HUB.voided(c.vault, c.mandate, ++_epoch);
    }

    /// @notice The hub moves what is inside: back to the vault, or to the owner.
    function send(address to, uint256 amount) external {
        if (msg.sender != address(HUB)) revert NotAuthorized(msg.sender);
        IERC20(USDC).safeTransfer(to, amount);
    }

    // ------------------------------------------------------------------ inside

    function _config() private view returns (PurseConfig memory) {
        return abi.decode(Clones.fetchCloneArgs(address(this)), (PurseConfig));
    }

    /// @dev As words, since abi.decode reverts on an address with dirty upper bits.
    function _billIn(bytes calldata signature) private pure returns (bool clean, Bill memory b) {
        uint256 to;
        (to, b.value, b.validAfter, b.validBefore, b.nonce) =
            abi.decode(signature[:BILL], (uint256, uint256, uint256, uint256, bytes32));
        b.to = address(uint160(to));
        clean = to <= type(uint160).max;
    }

    /// @dev A bill lives an hour in all, not an hour from whenever it is asked about.
    function _timely(Bill memory b, PurseConfig memory c) private view returns (bool) {
        return b.validAfter < block.timestamp && block.timestamp < b.validBefore && block.timestamp < c.endsAt
            && b.validBefore - b.validAfter <= MAX_WINDOW && bytes4(b.nonce) == bytes4(_epoch);
    }

    /// @dev A payment to the vault would be in its balance and not in its books.
    function _payable(Bill memory b, PurseConfig memory c) private view returns (bool) {
        return b.value != 0 && b.value <= c.perPayment && b.to != c.vault && b.to != address(this) && b.to != address(HUB);
    }

    /// @dev What the payee list and the approval amount ask for.
    function _granted(Bill memory b, PurseConfig memory c, bytes32 message, bytes calldata more) private view returns (bool) {
        bool listed = c.payees == 0;
        bool approved = c.approvalAbove == 0 || b.value <= c.approvalAbove;
        if (more.length == 0) return listed && approved;
        (bool whole, Grant memory g) = _grantIn(more);
        return whole && (listed || _listed(b, c, g)) && (approved || _approved(b, c, message, g));
    }

    function _listed(Bill memory b, PurseConfig memory c, Grant memory g) private pure returns (bool) {
        return MerkleProof.verify(g.proof, c.payees, keccak256(bytes.concat(keccak256(abi.encode(b.to)))));
    }

    /// @dev Over this very bill, whose nonce USDC takes once.
    function _approved(Bill memory b, PurseConfig memory c, bytes32 message, Grant memory g) private view returns (bool) {
        bytes32 action = keccak256(abi.encode(address(this), b.to, message, b.value));
        bytes32 approval = FACTORY.approvalDigestOf(c.mandate, action, g.until);
        return block.timestamp <= g.until && FACTORY.signedBy(c.owner, approval, g.signed);
    }

    /// @dev abi.decode(more, (bytes32[], uint64, bytes)) without its reverts.
    function _grantIn(bytes calldata more) private pure returns (bool whole, Grant memory g) {
        if (more.length < 3 * 32) return (false, g);
        (bool wholeProof, bytes calldata words) = _arrayAt(more, _word(more, 0), 32);
        (bool wholeSigned, bytes calldata signed) = _arrayAt(more, _word(more, 64), 1);
        uint256 until = _word(more, 32);
        if (!wholeProof || !wholeSigned || until > type(uint64).max) return (false, g);
        (g.proof, g.until, g.signed) = (new bytes32[](words.length / 32), uint64(until), signed);
        for (uint256 i = 0; i < g.proof.length; ++i) g.proof[i] = bytes32(_word(words, i * 32));
        return (true, g);
    }

    /// @dev The bytes of an array whose length stands at `offset`, and whether `data` has them all.
    function _arrayAt(bytes calldata data, uint256 offset, uint256 size) private pure returns (bool, bytes calldata) {
        if (offset > data.length - 32) return (false, data);
        bytes calldata rest = data[offset + 32:];
        uint256 count = _word(data, offset);
        return count > rest.length / size ? (false, data) : (true, rest[:count * size]);
    }

    function _word(bytes calldata data, uint256 offset) private pure returns (uint256) {
        return uint256(bytes32(data[offset:offset + 32]));
    }
}
