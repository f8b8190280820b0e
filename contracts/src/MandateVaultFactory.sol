// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {MandateVault} from "./MandateVault.sol";
import {AllowedCall, IApprovals, MandateHash, MandateTerms, ValueProbe, VaultConfig} from "./MandateTypes.sol";
import {RefusedCalls} from "./RefusedCalls.sol";

/// @title Creates one vault per signed mandate, at an address that commits to the terms.
/// @notice No admin and no state. The address is a function of the terms, the listed calls and this factory: nobody can
///         create the vault with other terms, and creating it twice gives the same vault.
contract MandateVaultFactory is EIP712, IApprovals {
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
    /// @notice Whether vaults of this factory ask for the owner's signature above the approval amount of their terms.
    bool public immutable APPROVALS_ON_CHAIN;
    address public immutable IMPLEMENTATION;

    constructor(IERC20 usdc, address keeper, bool approvalsOnChain) EIP712("MandateVault", "2") {
        if (address(usdc).code.length == 0) revert BadTerms("usdc");
        (USDC, KEEPER, APPROVALS_ON_CHAIN) = (usdc, keeper, approvalsOnChain);
        IMPLEMENTATION = address(new MandateVault(usdc, keeper, approvalsOnChain));
    }

    /// @notice Creates the vault. The caller is the owner, or brings the owner's signature over the terms. After the end only
    ///         where USDC already lies at its address: the vault is then closed, and the owner withdraws.
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
        if (msg.sender != t.owner && !signedBy(t.owner, digest, signature)) revert BadSignature();

        bytes memory args = _args(t, calls, probes, digest);
        vault = Clones.predictDeterministicAddressWithImmutableArgs(IMPLEMENTATION, args, digest);
        if (vault.code.length != 0) return vault;
        if (block.timestamp >= t.endsAt && USDC.balanceOf(vault) == 0) revert BadTerms("endsAt");
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

    /// @notice What the owner signs to approve one action of a mandate, until a moment.
    function approvalDigestOf(bytes32 mandate, bytes32 actionHash, uint64 until) external view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(MandateHash.APPROVE_TYPEHASH, mandate, actionHash, until)));
    }

    /// @notice Whether `owner` signed `digest`. ECDSA first, so that an account with EIP-7702 code can still sign with its own
    ///         key; then ERC-1271.
    function signedBy(address owner, bytes32 digest, bytes calldata signature) public view returns (bool) {
        (address recovered, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(digest, signature);
        if (err == ECDSA.RecoverError.NoError && recovered == owner) return true;
        return owner.code.length != 0 && SignatureChecker.isValidERC1271SignatureNowCalldata(owner, digest, signature);
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
            digest: digest,
            approvalAbove: t.approvalAbove
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
        if (t.issuedAt > block.timestamp + 1 hours) revert BadTerms("issuedAt");
        if (t.agentFeeBps > MAX_AGENT_FEE_BPS) revert BadTerms("agentFeeBps");
        if (t.onFloor > 1) revert BadTerms("onFloor");
    }

    /// @dev Second line of defence for an owner who was talked into bad terms.
    function _checkTargets(AllowedCall[] calldata calls, ValueProbe[] calldata probes) private view {
        if (calls.length > MAX_CALLS || probes.length > MAX_PROBES) revert BadTerms("allowedTargets");
        for (uint256 i = 0; i < calls.length; ++i) {
            (address target, bytes4 selector) = (calls[i].target, calls[i].selector);
            bool own = target == address(USDC) || target == address(this) || target == IMPLEMENTATION;
            if (own || target.code.length == 0 || RefusedCalls.has(selector)) revert BadTarget(target, selector);
        }
        for (uint256 i = 0; i < probes.length; ++i) {
            address target = probes[i].target;
            bool bad = target == address(USDC) || target.code.length == 0;
            for (uint256 j = 0; j < i; ++j) bad = bad || probes[j].target == target; // would count a position twice
            if (bad) revert BadTarget(target, probes[i].selector);
        }
    }
}
