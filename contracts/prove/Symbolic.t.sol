// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {TestUSDC} from "../mocks/TestUSDC.sol";
import {MandateVault} from "../src/MandateVault.sol";
import {AllowedCall, ValueProbe} from "../src/MandateTypes.sol";
import {IVaultFactory, Purse} from "../src/Purse.sol";
import {Policy, PurseHub} from "../src/PurseHub.sol";
import {PurseHubDeployer} from "../src/PurseHubDeployer.sol";
import {Setting} from "./Setting.sol";
import {vm} from "./Vm.sol";

/// @notice A listed target that takes, gives and sets the value of the position, as it is told.
contract AnyMarket {
    TestUSDC public immutable USDC;
    uint256 public value;

    constructor(TestUSDC usdc) {
        USDC = usdc;
    }

    function set(uint256 value_) external {
        value = value_;
    }

    function act(uint256 taken, uint256 given, uint256 value_) external {
        if (taken != 0) USDC.transferFrom(msg.sender, address(this), taken);
        if (given != 0) USDC.transfer(msg.sender, given);
        value = value_;
    }

    function worthOf(address) external view returns (uint256) {
        return value;
    }
}

/// @notice An owner that is a contract and signs whatever it is asked: the worst there is for "once".
contract YesOwner {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return 0x1626ba7e;
    }
}

/// @notice Proved by halmos for all values of the arguments, not for some: amounts, approvals, callers, times, prices, records.
contract Symbolic is Setting {
    address private constant AGENT = address(0xA6E27);
    address private constant KEEPER = address(0x4EE9E4);
    AnyMarket private _market;
    address private _owner;

    function setUp() external {
        vm.warp(START);
        found(KEEPER);
        _market = new AnyMarket(usdc);
        _owner = address(new YesOwner());
        AllowedCall[] memory calls = new AllowedCall[](1);
        calls[0] = AllowedCall(address(_market), AnyMarket.act.selector, 0);
        ValueProbe[] memory probes = new ValueProbe[](1);
        probes[0] = ValueProbe(address(_market), AnyMarket.worthOf.selector);
        open(_owner, AGENT, calls, probes);
        usdc.mint(address(_market), 1e15);
        vm.roll(1_000);
    }

    // ------------------------------------------------------------------ what stood before

    /// @dev The vault's slots: cash and deposits; totals; the day and flags; the record.
    uint256 private constant BOOKS = 0;
    uint256 private constant TOTALS = 1;
    uint256 private constant DAY = 2;
    uint256 private constant RECORD = 3;

    function _stands(uint96 before, uint96 binding, uint64 atBlock, uint128 spentToday) private {
        vm.store(address(vault), bytes32(RECORD), bytes32(uint256(before) | uint256(binding) << 96 | uint256(atBlock) << 192));
        uint256 flags = uint256(vm.load(address(vault), bytes32(DAY))) >> 160 << 160;
        vm.store(address(vault), bytes32(DAY), bytes32(uint256(spentToday) | (block.timestamp / 1 days) << 128 | flags));
    }

    function _execute(address by, uint256 taken, uint256 given, uint256 value, uint256 approve) private returns (bool ok) {
        bytes memory data = abi.encodeCall(AnyMarket.act, (taken, given, value));
        vm.prank(by);
        (ok,) = address(vault).call(abi.encodeCall(vault.execute, (address(_market), data, approve)));
    }

    function _unwind(address by, uint256 given, uint256 value) private returns (bool ok) {
        bytes memory data = abi.encodeCall(AnyMarket.act, (0, given, value));
        vm.prank(by);
        (ok,) = address(vault).call(abi.encodeCall(vault.unwind, (address(_market), data)));
    }

    // ------------------------------------------------------------------ the properties

    /// @notice Caps: by the agent only, at most the cap an action, at most the cap a day, at most what was approved, above the
    ///         approval amount not without one, and nothing after the end.
    function check_Caps(address by, uint256 taken, uint256 approve, uint256 time, uint128 spentToday) external {
        vm.assume(time >= START && time < START + 400 days);
        vm.warp(time);
        _stands(0, 0, 0, spentToday);
        uint256 before = usdc.balanceOf(address(vault));
        bool ok = _execute(by, taken, 0, 0, approve);
        uint256 left = before - usdc.balanceOf(address(vault));
        if (!ok) {
            assert(left == 0);
            return;
        }
        assert(by == AGENT && time < START + 30 days);
        assert(left <= approve && approve <= CAP && approve <= ABOVE);
        assert(left == 0 || uint256(spentToday) + left <= DAY_CAP);
        assert(vault.cash() == before - left && vault.totalSpent() == left);
    }

    /// @notice Floor: what is spent leaves cash and positions at the floor or above; below it only an exit passes that brings
    ///         98% of what it gives up, by the larger of the value now and the value recorded in an earlier block.
    function check_FloorWithTheRecordedValue(
        uint48 recorded, bool sameBlock, uint48 held, uint48 holds, uint48 taken, uint48 given
    ) external {
        // In the block of the record the binding value stands, which is never below the other.
        _stands(sameBlock ? 0 : recorded, sameBlock ? recorded : 0, uint64(sameBlock ? block.number : block.number - 1), 0);
        uint256 bar = held > recorded ? held : recorded;
        _market.set(held);
        uint256 before = usdc.balanceOf(address(vault));
        if (!_execute(AGENT, taken, given, holds, taken)) return;
        uint256 afterwards = usdc.balanceOf(address(vault));
        bool atFloor = afterwards + holds >= FLOOR;
        if (afterwards < before) assert(atFloor);
        else assert(atFloor || holds >= bar || (afterwards - before) * 10_000 >= (bar - holds) * 9_800);
    }

    /// @notice In its block no action makes the record lower than by what came back, at the worst fair price.
    function check_RecordFallsByWhatCameBack(uint40 recorded, uint40 held, uint40 holds, uint40 given) external {
        _stands(recorded, 0, 1, 0);
        _market.set(held);
        uint256 was = vault.recorded();
        uint256 before = usdc.balanceOf(address(vault));
        if (!_execute(AGENT, 0, given, holds, 0)) return;
        uint256 returned = usdc.balanceOf(address(vault)) - before;
        uint256 now_ = vault.recorded();
        assert(now_ >= holds);
        unchecked { // a checked product asks the solver for a division
            assert(now_ >= was || was - now_ <= returned * 10_000 / 9_800);
        }
        vm.roll(block.number + 1);
        assert(vault.recorded() == holds);
    }

    /// @notice A record is the keeper's and the owner's alone; it stops nothing, lowers no bar of its block, and from the next
    ///         block on it is the value that was found, higher or lower.
    function check_RecordStopsNothing(address by, uint96 recorded, uint96 held, uint256 time) external {
        vm.assume(time >= START && time < START + 400 days);
        vm.warp(time);
        _stands(recorded, 0, 1, 0);
        _market.set(held);
        vm.prank(by);
        (bool ok,) = address(vault).call(abi.encodeCall(vault.record, ()));
        assert(vault.stoppedAt() == 0 && vault.stopReason() == MandateVault.StopReason.None);
        if (!ok) {
            assert(vault.recorded() == recorded);
            return;
        }
        assert(by == _owner || by == KEEPER);
        assert(vault.recorded() >= recorded && vault.recorded() >= held);
        vm.roll(block.number + 1);
        assert(vault.recorded() == held);
    }

    /// @notice After the close keeper and agent exit at 98% of the larger of the value now and the value recorded, or not at all,
    ///         and no USDC leaves.
    /// @dev Says the larger and the difference in the words of the vault, whose multiplications by a truth value the solver does
    ///      not see through; that they mean what they are called is check_TheLargerAndTheDifference.
    function check_UnwindIsFair(bool keeper, uint40 recorded, uint40 held, uint40 holds, uint40 given) external {
        vm.prank(_owner);
        vault.stop();
        _stands(recorded, 0, 1, 0);
        _market.set(held);
        (, uint256 lost) = Math.trySub(Math.max(held, recorded), holds);
        uint256 before = usdc.balanceOf(address(vault));
        if (!_unwind(keeper ? KEEPER : AGENT, given, holds)) return;
        uint256 returned = usdc.balanceOf(address(vault)) - before;
        unchecked { // a checked product asks the solver for a division
            assert(returned * 10_000 >= lost * 9_800);
        }
    }

    /// @notice For all numbers: the larger is one of the two and below neither; the difference is that, or zero.
    function check_TheLargerAndTheDifference(uint256 a, uint256 b) external pure {
        uint256 larger = Math.max(a, b);
        assert(larger >= a && larger >= b && (larger == a || larger == b));
        (, uint256 difference) = Math.trySub(a, b);
        unchecked {
            assert(difference == (a > b ? a - b : 0));
        }
    }

    /// @notice Nobody else unwinds; the agent for three days after the close, and not after a revocation before it.
    function check_WhoUnwinds(address by, uint256 time, bool revoked) external {
        if (revoked) {
            vm.prank(_owner);
            vault.revokeAgent();
        }
        vm.prank(_owner);
        vault.stop();
        vm.assume(time >= START && time < START + 400 days);
        vm.warp(time);
        if (!_unwind(by, 1, 0)) return;
        assert(by == _owner || by == KEEPER || (by == AGENT && !revoked && time < START + 3 days));
    }

    /// @notice An approval is used once, whatever the owner signs, and only until its moment.
    function check_ApprovalOnce(uint256 taken, uint256 approve, uint64 until, uint256 time, uint256 later) external {
        vm.assume(time >= START && later >= time && later < START + 30 days);
        bytes memory data = abi.encodeCall(AnyMarket.act, (taken, 0, 500 * USD));
        bytes memory call = abi.encodeCall(vault.executeApproved, (address(_market), data, approve, until, ""));
        vm.warp(time);
        vm.prank(AGENT);
        (bool first,) = address(vault).call(call);
        vm.warp(later);
        uint256 before = usdc.balanceOf(address(vault));
        vm.prank(AGENT);
        (bool second,) = address(vault).call(call);
        assert(!first || time <= until);
        assert(!(first && second));
        assert(!second || later <= until);
        assert(!first || usdc.balanceOf(address(vault)) == before);
    }

    /// @notice Fee: its share of the measured gain, rounded down, and the owner gets all the rest.
    function check_FeeIsAtMostItsShareOfTheGain(uint40 deposited, uint40 spent, uint40 returned, uint40 gift) external {
        vm.assume(deposited <= BUDGET && uint256(deposited) + returned >= spent);
        uint256 cash = uint256(deposited) + returned - spent;
        vm.store(address(vault), bytes32(BOOKS), bytes32(cash | uint256(deposited) << 128));
        vm.store(address(vault), bytes32(TOTALS), bytes32(uint256(spent) | uint256(returned) << 128));
        usdc.mint(address(vault), cash + gift);
        uint256 held = usdc.balanceOf(address(vault));
        vm.prank(_owner);
        vault.withdrawAll();
        uint256 fee = vault.feeOwed();
        uint256 gain = vault.totalReturned() > vault.totalSpent() ? vault.totalReturned() - vault.totalSpent() : 0;
        assert(fee == gain * FEE_BPS / 10_000); // rounded down
        assert(vault.totalReturned() == returned && vault.totalSpent() == spent);
        assert(usdc.balanceOf(address(vault)) == fee && usdc.balanceOf(_owner) == held - fee);
    }
}

/// @notice The purse of one vault, whose hub allows 100 a payment: for all bills with the agent's signature alone, and all amounts.
contract PurseSymbolic is Setting {
    address private constant AGENT = address(0xA6E27);
    address private constant KEEPER = address(0x4EE9E4);
    uint256 private constant PER_PAYMENT = 100 * USD;
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    PurseHub private _hub;
    Purse private _purse;
    address private _owner;

    function setUp() external {
        vm.warp(START);
        found(KEEPER);
        _owner = address(new YesOwner());
        PurseHubDeployer deployer = new PurseHubDeployer(IVaultFactory(address(factory)));
        _hub = PurseHub(deployer.deploy(Policy(uint128(PER_PAYMENT), 0, 0, 0)));
        AllowedCall[] memory calls = new AllowedCall[](2);
        calls[0] = AllowedCall(address(_hub), PurseHub.fund.selector, 0);
        calls[1] = AllowedCall(address(_hub), PurseHub.drain.selector, 0);
        open(_owner, AGENT, calls, new ValueProbe[](0));
        vm.prank(AGENT);
        vault.execute(address(_hub), abi.encodeCall(PurseHub.fund, (USD)), USD);
        (, address purse) = _hub.purseOf(address(vault));
        _purse = Purse(purse);
        vm.roll(1_000);
    }

    struct Asked {
        bytes32 hash;
        uint256 to;
        uint256 value;
        uint256 validAfter;
        uint256 validBefore;
        bytes32 nonce;
        bytes32 r;
        bytes32 s;
        uint8 v;
    }

    /// @notice A bill is agreed to only where it is this purse's own, the agent's that the vault names now, to somebody else, within
    ///         payment, approval amount, time, end and epoch; to everything else the answer is a no, and never a revert.
    function check_BillIsWithinTheTerms(Asked memory a, uint256 time, bool paused) external {
        vm.assume(time >= START && time < START + 400 days);
        if (paused) {
            vm.prank(_owner);
            vault.revokeAgent();
        }
        vm.warp(time);
        bytes memory signature =
            abi.encodePacked(a.to, a.value, a.validAfter, a.validBefore, a.nonce, a.r, a.s, a.v);
        (bool ok, bytes memory answer) =
            address(_purse).staticcall(abi.encodeCall(Purse.isValidSignature, (a.hash, signature)));
        assert(ok && answer.length == 32);
        if (bytes4(answer) != 0x1626ba7e) {
            assert(bytes4(answer) == 0xffffffff);
            return;
        }
        assert(!paused && time < START + 30 days);
        assert(a.value != 0 && a.value <= PER_PAYMENT && a.value <= ABOVE);
        assert(a.validAfter < time && time < a.validBefore && a.validBefore - a.validAfter <= 1 hours);
        assert(bytes4(a.nonce) == 0);
        assert(a.to <= type(uint160).max);
        assert(a.to != uint160(address(vault)) && a.to != uint160(address(_purse)) && a.to != uint160(address(_hub)));
        bytes32 message =
            keccak256(abi.encode(TRANSFER, address(_purse), a.to, a.value, a.validAfter, a.validBefore, a.nonce));
        assert(a.hash == keccak256(abi.encodePacked(hex"1901", usdc.DOMAIN_SEPARATOR(), message)));
        assert(ecrecover(a.hash, a.v, a.r, a.s) == AGENT);
    }

    /// @notice What a drain returns to the vault is at most what the vault put in and at most what is there; the rest is the owner's.
    /// @dev Asked by the vault itself: that it counts what its balance gained is the other proofs'.
    function check_DrainReturnsNoMoreThanFunded(uint120 inside, uint120 held) external {
        bytes32 book = bytes32(uint256(keccak256(abi.encode(address(vault), uint256(0)))) + 1);
        vm.store(address(_hub), book, bytes32(uint256(inside) << 128));
        vm.assume(held >= USD);
        usdc.mint(address(_purse), held - USD);
        uint256 before = usdc.balanceOf(address(vault));
        vm.prank(address(vault));
        (bool ok,) = address(_hub).call(abi.encodeCall(PurseHub.drain, ()));
        assert(ok);
        uint256 returned = usdc.balanceOf(address(vault)) - before;
        assert(returned <= inside && returned <= held && (returned == inside || returned == held));
        assert(usdc.balanceOf(_owner) == held - returned);
        assert(usdc.balanceOf(address(_purse)) == 0 && uint256(vm.load(address(_hub), book)) >> 128 == 0);
    }
}
