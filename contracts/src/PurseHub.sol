// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {AllowedCall, ValueProbe, VaultConfig} from "./MandateTypes.sol";
import {IMandateVault, IPurseHub, IUsdc3009, IVaultFactory, Purse, PurseConfig, Unprobed} from "./Purse.sol";

/// @notice What the address of a hub commits to, in USDC base units; zero means: as the mandate says.
struct Policy {
    uint128 perPayment; // at most so much a bill
    uint128 perDay; // at most so much put in a UTC day
    uint128 float; // at most so much in a purse
    bytes32 payees; // Merkle root over keccak256(keccak256(abi.encode(payee))); zero: anybody
}

/// @title What mandates list: `fund(uint256)` and `drain()`, for the caller's own purse.
/// @notice Serves vaults of one factory and nobody else. No admin: the limits are in the hub's bytecode, and its address, made by
///         PurseHubDeployer, commits to them.
contract PurseHub is IPurseHub, Unprobed {
    using SafeERC20 for IERC20;

    error NotAVault(address caller);
    error OverFloat(uint256 amount, uint256 float);
    error OverPurseDay(uint256 amount, uint256 cap);
    error NotAuthorized(address caller);
    error MandateActive();

    event PurseOpened(bytes32 indexed mandate, address indexed vault, address indexed purse);
    event PurseFunded(bytes32 indexed mandate, address indexed purse, uint256 amount, uint256 fundedToday);
    event PurseDrained(bytes32 indexed mandate, address indexed purse, uint256 amount, uint256 toOwner);
    event PurseVoided(bytes32 indexed mandate, address indexed purse, uint32 epoch);

    uint256 private constant CLONE_SIZE = 45; // of a clone's code before its arguments

    IVaultFactory private immutable _FACTORY;
    IUsdc3009 private immutable _USDC;
    address private immutable _VAULT_CODE;
    bool private immutable _APPROVALS;
    address private immutable _PURSE;
    uint128 private immutable _PER_PAYMENT;
    uint128 private immutable _PER_DAY;
    uint128 private immutable _FLOAT;
    bytes32 private immutable _PAYEES;

    struct Book {
        Purse purse;
        uint64 day;
        uint128 fundedToday;
        uint128 inside; // put in and not taken out again: at most so much goes back as returned
    }

    mapping(address vault => Book) private _books;

    constructor(IVaultFactory factory, Policy memory policy) {
        _FACTORY = factory;
        _USDC = IUsdc3009(address(factory.USDC()));
        _VAULT_CODE = factory.IMPLEMENTATION();
        _APPROVALS = factory.APPROVALS_ON_CHAIN();
        (_PER_PAYMENT, _PER_DAY, _FLOAT, _PAYEES) = (policy.perPayment, policy.perDay, policy.float, policy.payees);
        _PURSE = address(new Purse(_USDC, factory));
    }

    // ------------------------------------------------------------------ the vault's calls

    /// @notice Puts `amount` USDC of the calling vault into its purse, which is made the first time. Refused above the float and
    ///         above the day's amount, gross: what is taken out again gives nothing of the day back.
    function fund(uint256 amount) external {
        Book storage k = _open(msg.sender);
        Purse purse = k.purse;
        PurseConfig memory c = purse.config();
        uint256 today = block.timestamp / 1 days;
        uint256 funded = (k.day == today ? k.fundedToday : 0) + amount;
        if (funded > c.perDay) revert OverPurseDay(funded, c.perDay);
        uint256 held = _USDC.balanceOf(address(purse)) + amount;
        // A gift above the float must not keep a purse from being opened, and then emptied.
        if (amount != 0 && held > c.float) revert OverFloat(held, c.float);
        (k.day, k.fundedToday) = (uint64(today), uint128(funded)); // funded <= perDay <= dailyCap < 2^128
        k.inside += uint128(amount);
        IERC20(_USDC).safeTransferFrom(msg.sender, address(purse), amount);
        emit PurseFunded(c.mandate, address(purse), amount, funded);
    }

    /// @notice What is left goes back to the calling vault, and never more than it put in: what somebody else gave is no gain, and
    ///         goes to the owner. An owner that USDC refuses holds nothing up; `toOwner` is then 0, and the rest stays inside.
    function drain() external {
        Book storage k = _books[msg.sender];
        Purse purse = k.purse;
        if (address(purse) == address(0)) return;
        uint256 held = _USDC.balanceOf(address(purse));
        uint256 back = held < k.inside ? held : k.inside;
        k.inside = 0;
        PurseConfig memory c = purse.config();
        if (back != 0) purse.send(msg.sender, back);
        uint256 toOwner = held - back;
        if (toOwner != 0) {
            try purse.send(c.owner, toOwner) {}
            catch {
                toOwner = 0;
            }
        }
        emit PurseDrained(c.mandate, address(purse), back, toOwner);
    }

    // ------------------------------------------------------------------ anybody's

    /// @notice After the settlement nothing can be earned any more: all goes to the owner at once, whoever asks. Makes the purse
    ///         where there is none yet: somebody may have sent USDC to its address.
    function sweep(address vault) external {
        Book storage k = _open(vault);
        if (!IMandateVault(vault).settled()) revert MandateActive();
        uint256 held = _USDC.balanceOf(address(k.purse));
        if (held == 0) return;
        k.inside = 0;
        PurseConfig memory c = k.purse.config();
        k.purse.send(c.owner, held);
        emit PurseDrained(c.mandate, address(k.purse), 0, held);
    }

    /// @notice A purse tells that its bills are void, so that one address tells of all purses.
    function voided(address vault, bytes32 mandate, uint32 epoch) external {
        if (msg.sender != address(_books[vault].purse)) revert NotAuthorized(msg.sender);
        emit PurseVoided(mandate, msg.sender, epoch);
    }

    // ------------------------------------------------------------------ reads

    /// @dev The first word is no amount and no address: a value probe of it is worth a millionth.
    function purseOf(address vault) external view returns (bool open, address purse) {
        purse = address(_books[vault].purse);
        open = purse != address(0);
    }

    function PER_PAYMENT() external view unprobed returns (uint128) {
        return _PER_PAYMENT;
    }

    function PER_DAY() external view unprobed returns (uint128) {
        return _PER_DAY;
    }

    function FLOAT() external view unprobed returns (uint128) {
        return _FLOAT;
    }

    function PAYEES() external view unprobed returns (bytes32) {
        return _PAYEES;
    }

    function FACTORY() external view unprobed returns (address) {
        return address(_FACTORY);
    }

    function USDC() external view unprobed returns (address) {
        return address(_USDC);
    }

    /// @notice The code that every purse of this hub runs.
    function PURSE() external view unprobed returns (address) {
        return _PURSE;
    }

    // ------------------------------------------------------------------ inside

    function _open(address vault) private returns (Book storage k) {
        k = _books[vault];
        if (address(k.purse) != address(0)) return k;
        PurseConfig memory c = _configOf(vault);
        k.purse = Purse(Clones.cloneDeterministicWithImmutableArgs(_PURSE, abi.encode(c), c.mandate));
        emit PurseOpened(c.mandate, vault, address(k.purse));
    }

    /// @dev Only for vaults of the factory, which stand at the address that it gives to the bytes they hold: what they say of
    ///      themselves is what their owner signed.
    function _configOf(address vault) private view returns (PurseConfig memory) {
        if (vault.code.length <= CLONE_SIZE) revert NotAVault(vault);
        bytes memory args = Clones.fetchCloneArgs(vault);
        (VaultConfig memory v,,) = abi.decode(args, (VaultConfig, AllowedCall[], ValueProbe[]));
        address real = Clones.predictDeterministicAddressWithImmutableArgs(_VAULT_CODE, args, v.digest, address(_FACTORY));
        if (real != vault) revert NotAVault(vault);
        return PurseConfig({
            vault: vault,
            owner: v.owner,
            perPayment: _within(_PER_PAYMENT, v.perTxCap),
            perDay: _within(_PER_DAY, v.dailyCap),
            float: _within(_FLOAT, v.dailyCap),
            endsAt: v.endsAt,
            approvalAbove: _APPROVALS ? v.approvalAbove : 0,
            payees: _PAYEES,
            mandate: v.digest
        });
    }

    /// @dev The policy's limit, where it has one below the mandate's.
    function _within(uint256 policy, uint256 term) private pure returns (uint256) {
        return policy != 0 && policy < term ? policy : term;
    }
}
