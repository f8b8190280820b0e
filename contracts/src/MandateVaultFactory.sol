// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {MandateVault} from "./MandateVault.sol";
import {AllowedCall, MandateHash, MandateTerms, ValueProbe, VaultConfig} from "./MandateTypes.sol";

/// @title Creates one vault per signed mandate, at an address that commits to the terms.
/// @notice No admin and no state. The address is a function of the terms, the listed calls and this factory: nobody can
///         create the vault with other terms, and creating it twice gives the same vault.
contract MandateVaultFactory is EIP712 {
    error BadTerms(string what);
    error BadTarget(address target, bytes4 selector);
    error BadSignature();

    event MandateCreated(
        bytes32 indexed publicIdHash, address indexed owner, address indexed vault, address agent, bytes32 digest, string publicId
    );

    uint256 public constant MAX_AGENT_FEE_BPS = 3_000;
    uint256 public constant MAX_HORIZON_DAYS = 366;
    uint256 public constant MAX_CALLS = 24;
    uint256 public constant MAX_PROBES = 8;

    IERC20 public immutable USDC;
    address public immutable KEEPER;
    address public immutable IMPLEMENTATION;

    constructor(IERC20 usdc, address keeper) EIP712("MandateVault", "2") {
        if (address(usdc).code.length == 0) revert BadTerms("usdc");
        (USDC, KEEPER) = (usdc, keeper);
        IMPLEMENTATION = address(new MandateVault(usdc, keeper));
    }

    /// @notice Creates the vault. The caller is the owner, or brings the owner's signature over the terms.
    function create(
        MandateTerms calldata t,
        AllowedCall[] calldata calls,
        ValueProbe[] calldata probes,
        bytes calldata signature
    ) external returns (address vault) {
        bytes32 digest = digestOf(t);
        _checkTerms(t);
        if (MandateHash.targetsHash(calls, probes) != t.allowedTargetsHash) revert BadTerms("allowedTargetsHash");
        _checkTargets(calls, probes);
        if (msg.sender != t.owner && !_signedBy(t.owner, digest, signature)) revert BadSignature();

        bytes memory args = _args(t, calls, probes, digest);
        vault = Clones.predictDeterministicAddressWithImmutableArgs(IMPLEMENTATION, args, digest);
        if (vault.code.length != 0) return vault;
        emit MandateCreated(keccak256(bytes(t.publicId)), t.owner, vault, t.agent, digest, t.publicId);
        Clones.cloneDeterministicWithImmutableArgs(IMPLEMENTATION, args, digest);
    }

    function predict(MandateTerms calldata t, AllowedCall[] calldata calls, ValueProbe[] calldata probes)
        external
        view
        returns (address)
    {
        bytes32 digest = digestOf(t);
        bytes memory args = _args(t, calls, probes, digest);
        return Clones.predictDeterministicAddressWithImmutableArgs(IMPLEMENTATION, args, digest);
    }

    function digestOf(MandateTerms calldata t) public view returns (bytes32) {
        return _hashTypedDataV4(MandateHash.structHash(t));
    }

    function targetsHashOf(AllowedCall[] calldata calls, ValueProbe[] calldata probes) external pure returns (bytes32) {
        return MandateHash.targetsHash(calls, probes);
    }

    function _args(MandateTerms calldata t, AllowedCall[] calldata calls, ValueProbe[] calldata probes, bytes32 digest)
        private
        pure
        returns (bytes memory)
    {
        VaultConfig memory c = VaultConfig({
            owner: t.owner,
            agent: t.agent,
            budget: t.budgetUsdc,
            perTxCap: t.perTxCap,
            dailyCap: t.dailyCap,
            stopFloorBps: t.stopFloorBps,
            endsAt: t.endsAt,
            agentFeeBps: t.agentFeeBps,
            onFloor: t.onFloor,
            digest: digest
        });
        return abi.encode(c, calls, probes);
    }

    /// @dev The typed data repeats some facts for the reader of a wallet prompt; they must agree.
    function _checkTerms(MandateTerms calldata t) private view {
        if (t.owner == address(0)) revert BadTerms("owner");
        if (t.budgetUsdc == 0 || t.budgetUsdc > type(uint128).max) revert BadTerms("budgetUsdc");
        if (t.perTxCap == 0 || t.perTxCap > t.dailyCap || t.dailyCap > t.budgetUsdc) revert BadTerms("caps");
        if (t.stopFloorBps > 10_000) revert BadTerms("stopFloorBps");
        if (t.stopFloor != t.budgetUsdc * (10_000 - t.stopFloorBps) / 10_000) revert BadTerms("stopFloor");
        if (t.horizonDays == 0 || t.horizonDays > MAX_HORIZON_DAYS) revert BadTerms("horizonDays");
        if (t.endsAt != t.issuedAt + uint256(t.horizonDays) * 1 days) revert BadTerms("endsAt");
        if (block.timestamp >= t.endsAt || t.issuedAt > block.timestamp + 1 hours) revert BadTerms("issuedAt");
        if (t.agentFeeBps > MAX_AGENT_FEE_BPS) revert BadTerms("agentFeeBps");
        if (t.onFloor > 1) revert BadTerms("onFloor");
    }

    /// @dev Second line of defence for an owner who was talked into bad terms.
    function _checkTargets(AllowedCall[] calldata calls, ValueProbe[] calldata probes) private view {
        if (calls.length > MAX_CALLS || probes.length > MAX_PROBES) revert BadTerms("allowedTargets");
        for (uint256 i = 0; i < calls.length; ++i) {
            (address target, bytes4 selector) = (calls[i].target, calls[i].selector);
            bool own = target == address(USDC) || target == address(this) || target == IMPLEMENTATION;
            if (own || target.code.length == 0 || _banned(selector)) revert BadTarget(target, selector);
        }
        for (uint256 i = 0; i < probes.length; ++i) {
            address target = probes[i].target;
            bool bad = target == address(USDC) || target.code.length == 0;
            for (uint256 j = 0; j < i; ++j) bad = bad || probes[j].target == target; // would count a position twice
            if (bad) revert BadTarget(target, probes[i].selector);
        }
    }

    /// @dev Token moves, approvals, rights given to others, batches of further calls: never on a list.
    function _banned(bytes4 s) private pure returns (bool) {
        return s == 0xa9059cbb || s == 0x23b872dd || s == 0x095ea7b3 // ERC-20 transfer, transferFrom, approve
            || s == 0x39509351 || s == 0xd73dd623 // increaseAllowance, increaseApproval
            || s == 0xd505accf || s == 0x8fcbaf0c // permit (EIP-2612, DAI)
            || s == 0x4000aea0 || s == 0xcae9ca51 // transferAndCall, approveAndCall
            || s == 0x9bd9bbc6 || s == 0x959b8c3f // ERC-777 send, authorizeOperator
            || s == 0x42842e0e || s == 0xb88d4fde || s == 0xa22cb465 // ERC-721 safeTransferFrom (2), setApprovalForAll
            || s == 0xf242432a || s == 0x2eb2c2d6 // ERC-1155 safeTransferFrom, safeBatchTransferFrom
            || s == 0x095bcdb6 || s == 0xfe99049a || s == 0x426a8493 // ERC-6909 transfer, transferFrom, approve
            || s == 0x558a7297 // ERC-6909 setOperator
            || s == 0x87517c45 // Permit2 approve
            || s == 0xc04a8a10 || s == 0x110496e5 || s == 0xeecea000 // approveDelegation, allow, setAuthorization
            || s == 0xac9650d8 || s == 0x5ae401dc || s == 0x1f0464d1 // multicall (3)
            || s == 0x252dba42 || s == 0xbce38bd7 || s == 0x82ad56cb // aggregate, tryAggregate, aggregate3
            || s == 0x3593564c || s == 0x24856bc3; // Universal Router execute (2)
    }

    /// @dev ECDSA first, so that an account with EIP-7702 code can still sign with its own key; then ERC-1271.
    function _signedBy(address owner, bytes32 digest, bytes calldata signature) private view returns (bool) {
        (address recovered, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(digest, signature);
        if (err == ECDSA.RecoverError.NoError && recovered == owner) return true;
        return owner.code.length != 0 && SignatureChecker.isValidERC1271SignatureNowCalldata(owner, digest, signature);
    }
}
