// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {HostileTarget, SlipMarket} from "../mocks/Hostile.sol";
import {PressedMarket, Presser} from "../mocks/HostileMarkets.sol";
import {TestMarket} from "../mocks/TestMarket.sol";
import {TestUSDC} from "../mocks/TestUSDC.sol";
import {MandateVault} from "../src/MandateVault.sol";
import {AllowedCall, ValueProbe} from "../src/MandateTypes.sol";
import {Purse} from "../src/Purse.sol";
import {PurseHub} from "../src/PurseHub.sol";
import {PursePlays} from "./PursePlays.sol";
import {vm} from "./Vm.sol";

/// @notice What a hostile agent, a keeper, an owner and strangers may do to one vault. The agent owns a target that takes and
///         gives and calls back, a market whose price it names, a market whose view it presses down by flash loans, and a purse.
contract Handler is PursePlays, Presser {
    HostileTarget public hostile;
    SlipMarket public slip;
    PressedMarket public pool;
    TestMarket public market;

    uint256 public mostAtOnce;
    uint256 public mostInADay;
    uint256 public signed;
    uint256 public aboveWithout;
    uint256 public usedAgain;
    bool public leaked;
    bool public revived;
    mapping(uint256 day => uint256) private _spentOn;
    bytes[] private _approved;
    bool private _stopped;

    constructor() {
        vm.warp(START);
        found(KEEPER);
        foundHub();
        IERC20 token = IERC20(address(usdc));
        (hostile, slip, pool, market) = (new HostileTarget(token), new SlipMarket(token), new PressedMarket(token), new TestMarket(token));
        AllowedCall[] memory calls = new AllowedCall[](11);
        calls[0] = AllowedCall(address(hostile), HostileTarget.take.selector, 0);
        calls[1] = AllowedCall(address(hostile), HostileTarget.give.selector, 0);
        calls[2] = AllowedCall(address(hostile), HostileTarget.reenter.selector, 0);
        calls[3] = AllowedCall(address(slip), SlipMarket.buy.selector, 0);
        calls[4] = AllowedCall(address(slip), SlipMarket.sell.selector, 0);
        calls[5] = AllowedCall(address(pool), PressedMarket.supply.selector, 0);
        calls[6] = AllowedCall(address(pool), PressedMarket.exit.selector, 0);
        calls[7] = AllowedCall(address(market), market.deposit.selector, 2);
        calls[8] = AllowedCall(address(market), market.redeem.selector, 6);
        calls[9] = AllowedCall(address(hub), PurseHub.fund.selector, 0);
        calls[10] = AllowedCall(address(hub), PurseHub.drain.selector, 0);
        ValueProbe[] memory probes = new ValueProbe[](3);
        probes[0] = ValueProbe(address(slip), slip.worthOf.selector);
        probes[1] = ValueProbe(address(pool), PressedMarket.maxWithdraw.selector);
        probes[2] = ValueProbe(address(market), market.maxWithdraw.selector);
        open(OWNER, AGENT, calls, probes);
    }

    function theVault() external view returns (MandateVault) {
        return vault;
    }

    function theUsdc() external view returns (TestUSDC) {
        return usdc;
    }

    // ------------------------------------------------------------------ what the agent took

    function taken() public view returns (uint256) {
        uint256 own = usdc.balanceOf(address(this)) + usdc.balanceOf(AGENT) + usdc.balanceOf(THIEF);
        return own + usdc.balanceOf(address(hostile)) + slip.stolen() + pool.stolen();
    }

    function _listed() internal view override returns (address) {
        return address(hostile);
    }

    function positions() public view returns (uint256) {
        return slip.worthOf(address(vault)) + pool.worthOf(address(vault)) + market.maxWithdraw(address(vault));
    }

    // ------------------------------------------------------------------ one action of the agent

    /// @dev The edges of the rules as they stand, and anything.
    function _amount(uint256 seed) internal view override returns (uint256) {
        (uint256 cash, uint256 held, uint256 floor,) = vault.worth();
        uint256 kind = seed % 9;
        if (kind == 0) return (seed >> 8) % (2 * CAP);
        if (kind == 1) return CAP;
        if (kind == 2) return ABOVE + (seed >> 8) % 2;
        if (kind == 3) return cash + held > floor ? cash + held - floor + (seed >> 8) % 2 : 1;
        if (kind == 4) return DAY_CAP - vault.spentToday();
        if (kind == 5) return held;
        if (kind == 6) return vault.recorded();
        if (kind == 7) return cash;
        return (seed >> 8) % 3;
    }

    function _action(uint256 seed) private returns (address target, bytes memory data, uint256 approve) {
        uint256 what = seed % 11;
        uint256 amount = what == 9 ? _fundable(seed >> 16) : _amount(seed >> 16);
        if (what == 9) return (address(hub), abi.encodeCall(PurseHub.fund, (amount)), amount);
        if (what == 10) return (address(hub), abi.encodeCall(PurseHub.drain, ()), 0);
        uint256[5] memory losses = [uint256(0), 200, 201, 5_000, 10_000];
        uint256 loss = amount * losses[(seed >> 8) % 5] / 10_000;
        if (what == 0) return (address(hostile), abi.encodeCall(HostileTarget.take, (amount)), amount);
        if (what == 1) {
            uint256 has = usdc.balanceOf(address(hostile));
            return (address(hostile), abi.encodeCall(HostileTarget.give, (amount < has ? amount : has)), 0);
        }
        if (what == 2) {
            _aim(seed >> 32);
            return (address(hostile), abi.encodeCall(HostileTarget.reenter, (amount)), amount);
        }
        if (what == 3) return (address(slip), abi.encodeCall(SlipMarket.buy, (amount, loss)), amount);
        if (what == 4) {
            uint256 worth = slip.worthOf(address(vault));
            if (amount > worth) amount = worth;
            return (address(slip), abi.encodeCall(SlipMarket.sell, (amount, loss < amount ? loss : amount)), 0);
        }
        if (what == 5) return (address(pool), abi.encodeCall(PressedMarket.supply, (amount)), amount);
        if (what == 6) {
            uint256 worth = pool.worthOf(address(vault));
            uint256[5] memory prices = [uint256(10_000), 9_800, 9_799, 5_000, 0];
            return (address(pool), abi.encodeCall(PressedMarket.exit, (amount < worth ? amount : worth, prices[(seed >> 8) % 5])), 0);
        }
        if (what == 7) return (address(market), abi.encodeCall(market.deposit, (amount, _receiver(seed))), amount);
        return (address(market), abi.encodeCall(market.redeem, (amount, _receiver(seed), address(vault))), 0);
    }

    function _receiver(uint256 seed) private view returns (address) {
        return (seed >> 12) % 8 == 0 ? AGENT : address(vault);
    }

    function _aim(uint256 seed) private {
        bytes memory take = abi.encodeCall(HostileTarget.take, (CAP));
        bytes[6] memory calls = [
            abi.encodeCall(vault.execute, (address(hostile), take, CAP)),
            abi.encodeCall(vault.unwind, (address(hostile), take)),
            abi.encodeCall(vault.stop, ()),
            abi.encodeCall(vault.settle, ()),
            abi.encodeCall(usdc.transferFrom, (address(vault), AGENT, CAP)),
            abi.encodeCall(usdc.transfer, (address(vault), seed % CAP))
        ];
        uint256 which = seed % 6;
        hostile.setReentry(which < 4 ? address(vault) : address(usdc), calls[which]);
    }

    /// @dev Sends a call and measures by the vault's real balance.
    function _try(address by, bytes memory data) private returns (bool ok) {
        uint256 before = usdc.balanceOf(address(vault));
        uint256 executed = vault.totalSpent();
        Balances memory was = _balances();
        vm.prank(by);
        (ok,) = address(vault).call(data);
        _follow(was, false);
        uint256 afterwards = usdc.balanceOf(address(vault));
        uint256 left = afterwards < before ? before - afterwards : 0;
        bytes4 f = bytes4(data);
        if (f == vault.execute.selector || f == vault.executeApproved.selector) {
            uint256 day = block.timestamp / 1 days;
            _spentOn[day] += left;
            if (left > mostAtOnce) mostAtOnce = left;
            if (_spentOn[day] > mostInADay) mostInADay = _spentOn[day];
            if (f == vault.execute.selector && left > ABOVE) ++aboveWithout;
            if (left != vault.totalSpent() - executed) leaked = true;
        } else if (f != vault.withdrawAll.selector && f != vault.payAgent.selector && left != 0) {
            leaked = true;
        }
        if (_stopped && vault.stoppedAt() == 0) revived = true;
        _stopped = vault.stoppedAt() != 0;
    }

    function _execute(uint256 seed) private returns (bool) {
        (address target, bytes memory data, uint256 approve) = _action(seed);
        return _try(AGENT, abi.encodeCall(vault.execute, (target, data, approve)));
    }

    // ------------------------------------------------------------------ the agent

    function acts(uint256 seed) external {
        _execute(seed);
    }

    function actsInOneBlock(uint256 a, uint256 b, uint256 c) external {
        _execute(a);
        _execute(b);
        _execute(c);
    }

    /// @notice Up to three actions, or unwinds, with some of the pool's cash borrowed around them.
    function presses(uint256 seed, uint256 a, uint256 b, uint256 c) external {
        address[] memory to = new address[](1 + (seed >> 4) % 3);
        bytes[] memory data = new bytes[](to.length);
        uint256[3] memory seeds = [a, b, c];
        for (uint256 i = 0; i < to.length; ++i) {
            to[i] = address(this);
            data[i] = abi.encodeCall(this.inner, (seeds[i]));
        }
        _flash(seed, to, data);
    }

    /// @notice The plan of the flash loan: an exit from the pool at a low price, by either door.
    function pressesAnExit(uint256 seed) external {
        uint256 worth = pool.worthOf(address(vault));
        uint256[4] memory prices = [uint256(0), 5_000, 9_799, 9_800];
        uint256 amount = seed % 3 == 0 ? worth / 2 : worth;
        bytes memory data = abi.encodeCall(PressedMarket.exit, (amount, prices[(seed >> 4) % 4]));
        address[] memory to = new address[](1);
        bytes[] memory calls = new bytes[](1);
        to[0] = address(this);
        bytes memory exit = (seed >> 8) % 3 == 0
            ? abi.encodeCall(vault.unwind, (address(pool), data)) : abi.encodeCall(vault.execute, (address(pool), data, 0));
        calls[0] = abi.encodeCall(this.exits, (exit));
        _flash(seed >> 12, to, calls);
    }

    function exits(bytes calldata data) external {
        _try(AGENT, data);
    }

    function _flash(uint256 seed, address[] memory to, bytes[] memory data) private {
        uint256 cash = usdc.balanceOf(address(pool));
        uint256[4] memory rests = [uint256(0), cash / 2, vault.recorded(), _amount(seed >> 8)];
        uint256 rest = rests[seed % 4];
        if (rest > cash) rest = cash;
        usdc.approve(address(pool), cash - rest);
        (bool ok,) = address(pool).call(abi.encodeCall(PressedMarket.flash, (cash - rest, to, data)));
        ok;
    }

    function funds(uint256 seed) external {
        uint256 amount = _fundable(seed);
        _try(AGENT, abi.encodeCall(vault.execute, (address(hub), abi.encodeCall(PurseHub.fund, (amount)), amount)));
    }

    /// @notice By the agent, or after the close by whoever may unwind.
    function drains(uint256 seed) external {
        bytes memory data = abi.encodeCall(PurseHub.drain, ());
        if (!_closed()) _try(AGENT, abi.encodeCall(vault.execute, (address(hub), data, 0)));
        else _try([AGENT, KEEPER, OWNER][seed % 3], abi.encodeCall(vault.unwind, (address(hub), data)));
    }

    function supplies(uint256 seed) external {
        uint256 amount = seed % 2 == 0 ? ABOVE : 1 + seed % ABOVE;
        _try(AGENT, abi.encodeCall(vault.execute, (address(pool), abi.encodeCall(PressedMarket.supply, (amount)), amount)));
    }

    function inner(uint256 seed) external {
        if (seed % 5 == 0) this.unwinds(seed >> 4);
        else _execute(seed >> 4);
    }

    function approvedActs(uint256 seed, bool again) external {
        if (again && _approved.length != 0) {
            uint256 spent = vault.totalSpent();
            if (_try(AGENT, _approved[seed % _approved.length]) || vault.totalSpent() != spent) ++usedAgain;
            return;
        }
        (address target, bytes memory data, uint256 approve) = _action(seed);
        uint64 until = uint64(block.timestamp + 1 hours);
        bytes32 action = keccak256(abi.encode(address(vault), target, keccak256(data), approve));
        (, bytes memory answer) = address(vault).call(abi.encodeCall(vault.terms, ()));
        bytes32 mandate = _digestIn(answer);
        bytes32 digest = factory.approvalDigestOf(mandate, action, until);
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(OWNER_KEY, digest);
        bytes memory call = abi.encodeCall(vault.executeApproved, (target, data, approve, until, abi.encodePacked(r, s, v)));
        if (vault.approvalUsed(digest)) {
            if (_try(AGENT, call)) ++usedAgain;
            return;
        }
        ++signed;
        if (_try(AGENT, call)) _approved.push(call);
    }

    /// @dev The tenth word of the configuration, which is static and so stands first in what `terms` answers.
    function _digestIn(bytes memory answer) private pure returns (bytes32 digest) {
        assembly {
            digest := mload(add(answer, add(0x20, mul(9, 0x20))))
        }
    }

    function unwinds(uint256 seed) external {
        (address target, bytes memory data,) = _action(seed);
        _try(seed >> 250 == 0 ? KEEPER : AGENT, abi.encodeCall(vault.unwind, (target, data)));
    }

    function agentStops(uint256 seed) external {
        if (seed % 16 == 0) _try(AGENT, abi.encodeCall(vault.stop, ()));
    }

    // ------------------------------------------------------------------ the others, and time

    function timePasses(uint256 seed) external {
        uint256[6] memory steps = [uint256(2), 12, 1 hours, 15 hours - 1, 1 days, 3 days];
        uint256 step = steps[seed % 6];
        vm.warp(block.timestamp + step);
        vm.roll(block.number + step / 2);
    }

    function keeperMarks() external {
        _try(KEEPER, abi.encodeCall(vault.mark, ()));
        vm.roll(block.number + 1);
    }

    /// @notice Higher or lower; a record that stopped a mandate would show.
    function keeperRecords(uint256 seed) external {
        uint256 stoppedAt = vault.stoppedAt();
        _try(seed % 4 == 0 ? OWNER : KEEPER, abi.encodeCall(vault.record, ()));
        if (vault.stoppedAt() != stoppedAt) leaked = true;
        vm.roll(block.number + 1);
    }

    function keeperUnwinds(uint256 seed) external {
        (address target, bytes memory data,) = _action(seed);
        _try(KEEPER, abi.encodeCall(vault.unwind, (target, data)));
    }

    function ownerPausesAndResumes() external {
        _try(OWNER, abi.encodeCall(vault.revokeAgent, ()));
        if (_execute(gifts)) leaked = leaked || !_closed();
        this.pays(gifts, 0, 0);
        this.paysAgain(gifts);
        _try(OWNER, abi.encodeCall(vault.setAgent, (AGENT)));
    }

    function ownerStops(uint256 seed) external {
        if (seed % 8 == 0) _try(OWNER, abi.encodeCall(vault.stop, ()));
    }

    function strangerKnocks(uint256 seed) external {
        bytes[7] memory doors = [
            abi.encodeCall(vault.withdrawAll, ()), abi.encodeCall(vault.sync, ()), abi.encodeCall(vault.mark, ()),
            abi.encodeCall(vault.settle, ()), abi.encodeCall(vault.payAgent, ()), abi.encodeCall(vault.setAgent, (STRANGER)),
            abi.encodeCall(vault.record, ())
        ];
        _try(seed % 2 == 0 ? STRANGER : AGENT, doors[(seed >> 1) % 7]);
    }

    function strangerGives(uint256 amount, uint256 where) external {
        amount = 1 + amount % (50 * USD);
        gifts += amount;
        (, address purse) = hub.purseOf(address(vault));
        address to = [address(vault), address(market), address(pool), purse == address(0) ? address(vault) : purse][where % 4];
        _gives(to, amount);
    }

    function marketLoses(uint256 amount) external {
        uint256 has = usdc.balanceOf(address(market));
        if (has != 0) market.lose(amount % has);
    }

    // ------------------------------------------------------------------ the way out

    /// @notice Whatever happened: what the owner gets three days after closing at the latest, against what was there.
    function ownerLeaves() external returns (uint256 worth, uint256 got, uint256 fee) {
        usdc.setBlacklisted(OWNER, false);
        usdc.setPaused(false);
        if (!vault.settled()) {
            if (!_closed()) _try(OWNER, abi.encodeCall(vault.stop, ()));
            bytes memory all = abi.encodeCall(SlipMarket.sell, (slip.worthOf(address(vault)), 0));
            _ownerUnwinds(address(slip), all);
            _ownerUnwinds(address(pool), abi.encodeCall(PressedMarket.exit, (pool.worthOf(address(vault)), 10_000)));
            if (gifts % 2 == 0) _ownerUnwinds(address(hub), abi.encodeCall(PurseHub.drain, ()));
            uint256 shares = market.balanceOf(address(vault));
            _ownerUnwinds(address(market), abi.encodeCall(market.redeem, (shares, address(vault), address(vault))));
        }
        worth = usdc.balanceOf(address(vault));
        uint256 before = usdc.balanceOf(OWNER);
        vm.warp(block.timestamp + 3 days);
        vm.prank(OWNER);
        vault.withdrawAll();
        (got, fee) = (usdc.balanceOf(OWNER) - before, vault.feeOwed());
        hub.sweep(address(vault));
    }

    function _ownerUnwinds(address target, bytes memory data) private {
        vm.prank(OWNER);
        vault.unwind(target, data);
    }
}

/// @notice What the owner signed, held after every one of many actions.
contract Campaign {
    Handler private _h;
    MandateVault private _vault;
    TestUSDC private _usdc;

    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    function setUp() external {
        _h = new Handler();
        (_vault, _usdc) = (_h.theVault(), _h.theUsdc());
    }

    function targetSelectors() external view returns (FuzzSelector[] memory found) {
        bytes4[31] memory all = [
            Handler.acts.selector, Handler.acts.selector, Handler.actsInOneBlock.selector, Handler.presses.selector,
            Handler.presses.selector, Handler.approvedActs.selector, Handler.unwinds.selector, Handler.agentStops.selector,
            Handler.timePasses.selector, Handler.keeperMarks.selector, Handler.keeperUnwinds.selector,
            Handler.ownerPausesAndResumes.selector, Handler.ownerStops.selector, Handler.strangerKnocks.selector,
            Handler.strangerGives.selector, Handler.marketLoses.selector, Handler.pressesAnExit.selector,
            Handler.pressesAnExit.selector, Handler.supplies.selector, Handler.supplies.selector,
            Handler.keeperRecords.selector, Handler.funds.selector, PursePlays.pays.selector, PursePlays.pays.selector,
            PursePlays.paysMany.selector, PursePlays.paysAgain.selector, PursePlays.voids.selector, PursePlays.sweeps.selector,
            PursePlays.circleRefuses.selector, PursePlays.refunds.selector, Handler.drains.selector
        ];
        found = new FuzzSelector[](1);
        found[0].addr = address(_h);
        found[0].selectors = new bytes4[](all.length);
        for (uint256 i = 0; i < all.length; ++i) found[0].selectors[i] = all[i];
    }

    function targetContracts() external view returns (address[] memory found) {
        found = new address[](1);
        found[0] = address(_h);
    }

    function invariant_WhatTheOwnerSignedHolds() external view {
        // Caps, by the real balance; nothing leaves elsewhere; a stop is for good.
        require(_h.mostAtOnce() <= 200e6, "an action over its cap");
        require(_h.mostInADay() <= 500e6, "a day over its cap");
        require(!_h.leaked(), "money left by another door");
        require(!_h.revived(), "a stopped mandate worked again");
        // Approvals: none above the amount without one, none twice.
        require(_h.aboveWithout() == 0, "above the amount without an approval");
        require(_h.usedAgain() == 0, "an approval used twice");
        // What lies above the floor, and 2% of the floor; shares of the honest market round by a base unit a call.
        require(_h.taken() <= 200e6 + 16e6 + _h.gifts() + 100, "the agent has more than its exposure");
        // The books.
        uint256 cash = _vault.cash();
        if (!_vault.settled()) {
            require(cash == _vault.totalDeposited() + _vault.totalReturned() - _vault.totalSpent(), "the books do not add up");
            require(_vault.feeOwed() == 0, "a fee before the settlement");
        }
        require(_usdc.balanceOf(address(_vault)) >= cash + _vault.feeOwed(), "the books hold more than the vault");
        uint256 gain = _vault.totalReturned() > _vault.totalSpent() ? _vault.totalReturned() - _vault.totalSpent() : 0;
        require(_vault.feeOwed() <= gain * 3_000 / 10_000, "a fee above its share of the gain");
        _purseHolds();
        require(_usdc.allowance(address(_vault), address(_h.theHub())) == 0, "an allowance was left");
        require(_usdc.allowance(address(_vault), address(_h.hostile())) == 0, "an allowance was left");
        require(_usdc.allowance(address(_vault), address(_h.slip())) == 0, "an allowance was left");
        require(_usdc.allowance(address(_vault), address(_h.pool())) == 0, "an allowance was left");
        require(_usdc.allowance(address(_vault), address(_h.market())) == 0, "an allowance was left");
    }

    /// @dev What the purse adds, by the numbers of its design; (3) and the vault's books (9) are above.
    function _purseHolds() private view {
        (uint256 float, uint256 perDay, uint256 perPayment) = (160e6, 180e6, 155e6);
        require(_h.inPurse() <= float + _h.gifts(), "(1) more in the purse than the float");
        require(_h.mostFundedInADay() <= perDay, "(2) a day's funding");
        require(_h.mostPaidInADay() <= float + perDay + _h.gifts(), "(2) a day's payments");
        require(_h.largest() <= perPayment && _h.largestWithout() <= 150e6, "(4) a bill above its limit");
        require(!_h.wrong(), "(4) (5) a bill that the rules forbid was paid, or one that they allow was not");
        require(!_h.astray(), "(6) USDC left the purse elsewhere");
        require(_h.returnedByDrain() <= _h.funded(), "(7) more was returned than put in");
        require(!_h.touched(), "(9) the purse touched the vault's books");
    }

    function afterInvariant() external {
        (uint256 worth, uint256 got, uint256 fee) = _h.ownerLeaves();
        require(got + fee + 3 >= worth, "the owner left something behind");
        require(_vault.agent() == address(0), "an agent is left");
        require(_h.inPurse() == 0 && _usdc.balanceOf(address(_vault)) == _vault.feeOwed(), "(8) something stayed behind");
    }
}
