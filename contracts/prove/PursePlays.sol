// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {VaultConfig} from "../src/MandateTypes.sol";
import {MandateVault} from "../src/MandateVault.sol";
import {Bill, IVaultFactory, Purse} from "../src/Purse.sol";
import {Policy, PurseHub} from "../src/PurseHub.sol";
import {PurseHubDeployer} from "../src/PurseHubDeployer.sol";
import {TestUSDC} from "../mocks/TestUSDC.sol";
import {Setting} from "./Setting.sol";
import {vm} from "./Vm.sol";

/// @notice What may be done to the purse of the campaign's vault, and what was measured of it: 155 a payment, 180 a day, 160 inside.
///         A bill must be paid exactly where the rules, written here a second time, allow it.
abstract contract PursePlays is Setting {
    uint256 internal constant OWNER_KEY = 0xA11CE;
    uint256 internal constant AGENT_KEY = 0xA6E27;
    uint256 internal constant THIEF_KEY = 0xBAD;
    address public immutable OWNER = vm.addr(OWNER_KEY);
    address public immutable AGENT = vm.addr(AGENT_KEY);
    address public immutable THIEF = vm.addr(THIEF_KEY);
    address public constant KEEPER = address(0x4EE9E4);
    address public constant STRANGER = address(0x57124);
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    uint256 private constant FLOAT = 160 * USD;
    uint256 private constant PER_DAY = 180 * USD;
    uint256 private constant PER_PAYMENT = 155 * USD;

    PurseHub internal hub;

    uint256 public gifts;
    uint256 public funded;
    uint256 public returnedByDrain;
    uint256 public mostFundedInADay;
    uint256 public mostPaidInADay;
    uint256 public largest;
    uint256 public largestWithout;
    bool public wrong;
    bool public astray;
    bool public touched;
    mapping(uint256 day => uint256) private _fundedOn;
    mapping(uint256 day => uint256) private _paidOn;
    uint256 private _bills;
    Kept[] private _kept;

    /// @dev A bill with its bytes, and whose signatures those hold.
    struct Kept {
        Bill bill;
        bytes signature;
        bool byAgent;
        bool byOwner;
        uint64 until;
    }

    struct Balances {
        uint256 purse;
        uint256 vault;
        uint256 owner;
        bytes32 books;
    }

    function _amount(uint256 seed) internal view virtual returns (uint256);

    function foundHub() internal {
        PurseHubDeployer deployer = new PurseHubDeployer(IVaultFactory(address(factory)));
        hub = PurseHub(deployer.deploy(Policy(uint128(PER_PAYMENT), uint128(PER_DAY), uint128(FLOAT), 0)));
    }

    function theHub() external view returns (PurseHub) {
        return hub;
    }

    function inPurse() public view returns (uint256) {
        (bool made, address purse) = hub.purseOf(address(vault));
        return made ? usdc.balanceOf(purse) : 0;
    }

    function _closed() internal view returns (bool) {
        return vault.stoppedAt() != 0 || block.timestamp >= START + 30 days;
    }

    /// @dev The edges of the float, and any amount.
    function _fundable(uint256 seed) internal view returns (uint256) {
        uint256 inside = inPurse();
        if (seed % 4 == 0) return inside < FLOAT ? FLOAT - inside + (seed >> 8) % 2 : (seed >> 8) % 2;
        if (seed % 4 == 1) return 1 + (seed >> 8) % (100 * USD);
        return _amount(seed >> 2);
    }

    // ------------------------------------------------------------------ what was measured

    function _balances() internal view returns (Balances memory) {
        return Balances(inPurse(), usdc.balanceOf(address(vault)), usdc.balanceOf(OWNER), _books());
    }

    function _books() private view returns (bytes32) {
        bytes memory totals = abi.encode(vault.cash(), vault.totalDeposited(), vault.totalSpent(), vault.totalReturned());
        return keccak256(bytes.concat(totals, abi.encode(vault.feeOwed(), vault.stoppedAt(), vault.settled(), vault.paused())));
    }

    /// @dev What left the purse came to the vault or to the owner; what came, came from the vault. Outside of the vault's own calls
    ///      its books stand.
    function _follow(Balances memory was, bool outside) internal {
        Balances memory now_ = _balances();
        if (now_.purse > was.purse) {
            if (outside || was.vault - now_.vault != now_.purse - was.purse) astray = true;
            funded += now_.purse - was.purse;
            uint256 today = _fundedOn[block.timestamp / 1 days] += now_.purse - was.purse;
            if (today > mostFundedInADay) mostFundedInADay = today;
        } else if (now_.purse < was.purse) {
            uint256 toVault = now_.vault - was.vault;
            if (was.purse - now_.purse != toVault + now_.owner - was.owner) astray = true;
            if (outside && toVault != 0) astray = true;
            returnedByDrain += toVault;
        }
        if (outside && now_.books != was.books) touched = true;
    }

    function _gives(address to, uint256 amount) internal {
        gifts += amount;
        usdc.mint(to, amount);
    }

    // ------------------------------------------------------------------ bills

    /// @notice A bill of any amount, time, payee, epoch and hand, settled at once.
    function pays(uint256 seed, uint256 amount, uint256 times) external {
        _pay(seed, amount, times);
    }

    function _pay(uint256 seed, uint256 amount, uint256 times) private {
        (bool made, address purse) = hub.purseOf(address(vault));
        if (!made) return;
        Kept memory k;
        k.bill = Bill(_payee(seed, purse), _value(amount), 0, 0, _nonce(seed >> 8, Purse(purse)));
        (k.bill.validAfter, k.bill.validBefore) = _span(times);
        k.byAgent = (seed >> 16) % 8 != 0;
        uint256 grant = (seed >> 24) % 4;
        k.byOwner = grant == 1;
        k.until = uint64(block.timestamp + [uint256(0), 60, 1 days][(seed >> 32) % 3]);
        k.signature = _bytes(purse, k, grant);
        _kept.push(k);
        _settle(purse, k);
    }

    function paysMany(uint256 seed, uint256 amount) external {
        for (uint256 i; i < 4; ++i) _pay((seed >> i) | 1 << 16, amount >> i, seed >> 128);
    }

    function paysAgain(uint256 seed) external {
        (bool made, address purse) = hub.purseOf(address(vault));
        if (made && _kept.length != 0) _settle(purse, _kept[seed % _kept.length]);
    }

    function _payee(uint256 seed, address purse) private view returns (address) {
        return [THIEF, THIEF, THIEF, AGENT, OWNER, address(vault), purse, address(hub)][seed % 8];
    }

    function _value(uint256 seed) private view returns (uint256) {
        uint256[8] memory edges =
            [seed % (20 * USD), PER_PAYMENT, PER_PAYMENT + 1, ABOVE, ABOVE + 1, 0, inPurse(), inPurse() / 2];
        return edges[(seed >> 64) % 8];
    }

    function _span(uint256 seed) private view returns (uint256 from, uint256 until) {
        uint256[4] memory back = [uint256(1), 0, 600, 1 + seed % 4_000];
        uint256[6] memory forth = [uint256(60), 3_000, 3_599, 3_600, 0, (seed >> 16) % 4_000];
        from = block.timestamp - back[(seed >> 32) % 4];
        until = block.timestamp + forth[(seed >> 40) % 6];
        if ((seed >> 48) % 8 == 0) (from, until) = (from + 12 hours, until + 12 hours);
    }

    function _nonce(uint256 seed, Purse purse) private returns (bytes32) {
        uint32 epoch = purse.epoch();
        uint32[4] memory epochs = [epoch, epoch, epoch + 1, epoch == 0 ? 0 : epoch - 1];
        return bytes32(uint256(epochs[seed % 4]) << 224 | ++_bills);
    }

    function _bytes(address purse, Kept memory k, uint256 grant) private returns (bytes memory s) {
        bytes32 message = _message(purse, k.bill);
        s = bytes.concat(abi.encode(k.bill), _sign(k.byAgent ? AGENT_KEY : THIEF_KEY, _typed(message)));
        if (grant == 0) return s;
        bytes32 action = keccak256(abi.encode(purse, k.bill.to, message, k.bill.value));
        uint256 key = [THIEF_KEY, OWNER_KEY, AGENT_KEY, THIEF_KEY][grant];
        bytes memory approval = _sign(key, factory.approvalDigestOf(Purse(purse).config().mandate, action, k.until));
        return bytes.concat(s, abi.encode(new bytes32[](0), k.until, approval));
    }

    function _message(address purse, Bill memory b) private pure returns (bytes32) {
        return keccak256(abi.encode(TRANSFER, purse, b.to, b.value, b.validAfter, b.validBefore, b.nonce));
    }

    function _typed(bytes32 message) private view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", usdc.DOMAIN_SEPARATOR(), message));
    }

    function _sign(uint256 key, bytes32 digest) private returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    /// @dev The rules of a bill, in other words than the purse's.
    function _allowed(address purse, Kept memory k) private view returns (bool) {
        Bill memory b = k.bill;
        if (usdc.authorizationState(purse, b.nonce) || usdc.balanceOf(purse) < b.value || usdc.paused()) return false;
        if (usdc.blacklisted(b.to)) return false;
        if (!k.byAgent || vault.paused() || vault.settled() || _closed()) return false;
        if (b.to == address(vault) || b.to == purse || b.to == address(hub)) return false;
        if (b.value == 0 || b.value > PER_PAYMENT) return false;
        if (b.value > ABOVE && !(k.byOwner && k.until >= block.timestamp)) return false;
        if (b.validAfter + 1 hours < b.validBefore) return false;
        if (b.validAfter >= block.timestamp || b.validBefore <= block.timestamp) return false;
        return uint256(b.nonce) >> 224 == Purse(purse).epoch();
    }

    function _settle(address purse, Kept memory k) private {
        Bill memory b = k.bill;
        bool allowed = _allowed(purse, k);
        bytes32 books = _books();
        (uint256 before, uint256 had) = (usdc.balanceOf(purse), usdc.balanceOf(b.to));
        bytes memory data = abi.encodeWithSelector(
            0xcf092995, purse, b.to, b.value, b.validAfter, b.validBefore, b.nonce, k.signature
        );
        vm.prank(STRANGER);
        (bool paid,) = address(usdc).call(data);
        if (paid != allowed) wrong = true;
        if (_books() != books) touched = true;
        if (usdc.balanceOf(purse) != before - (paid ? b.value : 0)) astray = true;
        if (!paid) return;
        if (usdc.balanceOf(b.to) != had + b.value) astray = true;
        uint256 day = block.timestamp / 1 days;
        _paidOn[day] += b.value;
        if (_paidOn[day] > mostPaidInADay) mostPaidInADay = _paidOn[day];
        if (b.value > largest) largest = b.value;
        if (!k.byOwner && b.value > largestWithout) largestWithout = b.value;
    }

    // ------------------------------------------------------------------ the others

    /// @notice What was paid comes back in part: to the purse as a refund, which counts as a gift, or to a listed target.
    function refunds(uint256 seed) external {
        (bool made, address purse) = hub.purseOf(address(vault));
        uint256 has = usdc.balanceOf(THIEF);
        uint256 amount = seed % 2 == 0 ? has : has / 2;
        bool toPurse = made && (seed >> 8) % 4 == 0;
        vm.prank(THIEF);
        (bool ok,) = address(usdc).call(abi.encodeCall(usdc.transfer, (toPurse ? purse : _listed(), amount)));
        if (ok && toPurse) gifts += amount;
    }

    function _listed() internal view virtual returns (address);

    function voids(uint256 seed) external {
        (bool made, address purse) = hub.purseOf(address(vault));
        if (!made) return;
        address by = [OWNER, AGENT, STRANGER, KEEPER][seed % 4];
        uint32 epoch = Purse(purse).epoch();
        bool may = by == OWNER || (by == AGENT && vault.agent() == AGENT);
        Balances memory was = _balances();
        vm.prank(by);
        (bool ok,) = purse.call(abi.encodeCall(Purse.void, ()));
        if (ok != may || Purse(purse).epoch() != epoch + (may ? 1 : 0)) wrong = true;
        _follow(was, true);
    }

    function sweeps(uint256 seed) external {
        Balances memory was = _balances();
        bool settled = vault.settled();
        vm.prank(seed % 2 == 0 ? STRANGER : AGENT);
        (bool ok,) = address(hub).call(abi.encodeCall(PurseHub.sweep, (address(vault))));
        if (ok && (!settled || inPurse() != 0)) wrong = true;
        _follow(was, true);
    }

    /// @notice The owner, or everybody, is refused by USDC for a while.
    function circleRefuses(uint256 seed) external {
        if (seed % 8 == 0) usdc.setPaused(!usdc.paused());
        else if (usdc.paused()) usdc.setPaused(false);
        usdc.setBlacklisted(OWNER, (seed >> 8) % 4 == 0);
    }
}
