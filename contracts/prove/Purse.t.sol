// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Clones} from "@openzeppelin/contracts/proxy/Clones.sol";
import {HostileTarget, SlipMarket} from "../mocks/Hostile.sol";
import {MandateVault} from "../src/MandateVault.sol";
import {MandateVaultFactory} from "../src/MandateVaultFactory.sol";
import {AllowedCall, ValueProbe, VaultConfig} from "../src/MandateTypes.sol";
import {Bill, IVaultFactory, Purse, PurseConfig, Unprobed} from "../src/Purse.sol";
import {Policy, PurseHub} from "../src/PurseHub.sol";
import {PurseHubDeployer} from "../src/PurseHubDeployer.sol";
import {PurseSetting} from "./PurseSetting.sol";
import {vm} from "./Vm.sol";

/// @notice What a purse without limits of its own refuses: every attack that worked on an earlier form of it, and others.
contract PurseTest is PurseSetting {
    function setUp() public {
        deploy(Policy(0, 0, 0, 0), true);
    }

    // ------------------------------------------------------------------ amounts

    function test_an_unspent_purse_does_not_pile_up_over_days() public {
        MandateVault vault = open(usual());
        for (uint256 day; day < 5; ++day) {
            vm.warp(START + day * 1 days);
            funds(vault, 50 * USD);
            funds(vault, 50 * USD);
        }
        require(usdc.balanceOf(address(purseOf(vault))) == 100 * USD, "above the float");
        uint256 n;
        while (n < 10) pays(vault, THIEF, 50 * USD, n++);
        require(usdc.balanceOf(THIEF) == 100 * USD);
        while (funds(vault, 50 * USD)) pays(vault, THIEF, 50 * USD, n++);
        require(usdc.balanceOf(THIEF) == 200 * USD, "yesterday's float and today's cap, as at the vault's own midnight");
    }

    function test_the_whole_purse_in_one_block_is_the_float_and_no_more() public {
        MandateVault vault = open(usual());
        require(funds(vault, 50 * USD) && funds(vault, 50 * USD) && !funds(vault, 1));
        require(pays(vault, THIEF, 50 * USD, 1) && pays(vault, THIEF, 50 * USD, 2) && !pays(vault, THIEF, 1, 3));
        require(!funds(vault, 1), "the day's cap is gross");
    }

    function test_putting_in_and_taking_out_gives_nothing_of_the_day_back() public {
        MandateVault vault = open(usual());
        require(funds(vault, 50 * USD) && drains(vault) && funds(vault, 50 * USD) && drains(vault) && !funds(vault, 1));
        vm.warp(block.timestamp + 1 days);
        require(funds(vault, 50 * USD));
    }

    function test_an_amount_that_would_wrap_is_refused_by_the_day() public {
        MandateVault vault = open(usual());
        require(funds(vault, 10 * USD));
        uint256[5] memory amounts = [uint256(1) << 128, (1 << 128) + USD, type(uint256).max, type(uint256).max - 10 * USD + 1, 1 << 127];
        for (uint256 i; i < 5; ++i) {
            require(!executes(vault, address(hub), abi.encodeCall(PurseHub.fund, (amounts[i])), USD));
            vm.prank(address(vault));
            (bool ok,) = address(hub).call(abi.encodeCall(PurseHub.fund, (amounts[i])));
            require(!ok);
        }
        require(usdc.balanceOf(address(purseOf(vault))) == 10 * USD && vault.totalSpent() == 10 * USD);
    }

    function test_a_bill_is_at_most_the_cap_of_an_action_and_never_of_nothing() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        funds(vault, 50 * USD);
        require(!pays(vault, SELLER, 50 * USD + 1, 1) && !pays(vault, SELLER, 0, 2) && pays(vault, SELLER, 50 * USD, 3));
    }

    // ------------------------------------------------------------------ approvals

    function test_a_bill_above_the_approval_amount_needs_the_owner_over_this_very_bill() public {
        Rules memory r = usual();
        r.above = 10 * USD;
        MandateVault vault = open(r);
        for (uint256 i; i < 5; ++i) require(funds(vault, 10 * USD));
        require(!pays(vault, THIEF, 50 * USD, 1) && !pays(vault, THIEF, 10 * USD + 1, 2) && pays(vault, SELLER, 10 * USD, 3));
        Bill memory b = bill(vault, SELLER, 20 * USD, 4);
        uint64 until = uint64(block.timestamp + 100);
        require(!settles(vault, b, approved(vault, b, until, THIEF_KEY)), "a stranger approved");
        require(!settles(vault, b, approved(vault, b, until, AGENT_KEY)), "the agent approved");
        bytes memory good = approved(vault, b, until, OWNER_KEY);
        _refuseOthersWithItsApproval(vault, b, good, until);
        vm.warp(until + 1);
        require(!settles(vault, b, good), "late");
        vm.warp(until);
        require(settles(vault, b, good) && !settles(vault, b, good), "once");
        require(usdc.balanceOf(SELLER) == 30 * USD && usdc.balanceOf(THIEF) == 0);
    }

    /// @dev Another payee, nonce and amount with the owner's bytes, and the owner's bytes with another moment.
    function _refuseOthersWithItsApproval(MandateVault vault, Bill memory b, bytes memory good, uint64 until) private {
        bytes memory approval = new bytes(65);
        for (uint256 i; i < 65; ++i) approval[i] = good[225 + 5 * 32 + i];
        Bill[3] memory others = [
            Bill(THIEF, b.value, b.validAfter, b.validBefore, b.nonce),
            Bill(b.to, b.value, b.validAfter, b.validBefore, nonce(vault, 5)),
            Bill(b.to, b.value + 1, b.validAfter, b.validBefore, b.nonce)
        ];
        bytes memory grant = abi.encode(new bytes32[](0), until, approval);
        require(asks(vault, b, bytes.concat(signed(vault, b, AGENT_KEY), grant)) == YES);
        for (uint256 i; i < 3; ++i) {
            require(!settles(vault, others[i], bytes.concat(signed(vault, others[i], AGENT_KEY), grant)), "another bill");
        }
        grant = abi.encode(new bytes32[](0), until + 1, approval);
        require(!settles(vault, b, bytes.concat(signed(vault, b, AGENT_KEY), grant)), "another moment");
    }

    function test_an_approval_of_a_bill_is_none_of_an_action_and_the_reverse() public {
        Rules memory r = usual();
        r.above = 10 * USD;
        MandateVault vault = open(r);
        funds(vault, 10 * USD);
        bytes memory data = abi.encodeCall(HostileTarget.take, (20 * USD));
        (VaultConfig memory c,,) = vault.terms();
        uint64 until = uint64(block.timestamp + 100);
        Bill memory b = bill(vault, SELLER, 20 * USD, 1);
        bytes32 ofBill = keccak256(abi.encode(address(purseOf(vault)), b.to, messageOf(vault, b), b.value));
        bytes memory approval = sign(OWNER_KEY, factory.approvalDigestOf(c.digest, ofBill, until));
        vm.prank(AGENT);
        (bool ok,) = address(vault).call(
            abi.encodeCall(vault.executeApproved, (address(hostile), data, 20 * USD, until, approval))
        );
        require(!ok, "an action by the approval of a bill");
        bytes32 ofAction = keccak256(abi.encode(address(vault), address(hostile), keccak256(data), 20 * USD));
        approval = sign(OWNER_KEY, factory.approvalDigestOf(c.digest, ofAction, until));
        bytes memory grant = abi.encode(new bytes32[](0), until, approval);
        require(asks(vault, b, bytes.concat(signed(vault, b, AGENT_KEY), grant)) == NO);
    }

    function test_where_the_factory_keeps_no_approvals_the_purse_asks_for_none() public {
        deploy(Policy(0, 0, 0, 0), false);
        Rules memory r = usual();
        r.above = 10 * USD;
        MandateVault vault = open(r);
        require(funds(vault, 50 * USD) && pays(vault, SELLER, 50 * USD, 1));
    }

    // ------------------------------------------------------------------ time

    function test_a_bill_lives_an_hour_in_all() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Bill memory b = Bill(THIEF, USD, START - 1, START + 7 days, nonce(vault, 1));
        bytes memory s = signed(vault, b, AGENT_KEY);
        require(!settles(vault, b, s));
        vm.warp(START + 7 days - 59 minutes);
        require(!settles(vault, b, s), "an hour from whenever it is asked about");
        uint256 now_ = block.timestamp;
        require(!_lives(vault, now_ - 1, now_ + 3_600) && _lives(vault, now_ - 1, now_ + 3_599), "an hour");
        require(!_lives(vault, now_, now_ + 60), "not yet");
        require(!_lives(vault, now_ - 60, now_) && _lives(vault, now_ - 60, now_ + 1), "over");
        require(!_lives(vault, 0, type(uint256).max) && !_lives(vault, now_ + 60, now_ + 30) && !_lives(vault, now_ - 1, 0));
    }

    function _lives(MandateVault vault, uint256 from, uint256 until) private returns (bool) {
        Bill memory b = Bill(SELLER, 1, from, until, nonce(vault, uint256(keccak256(abi.encode(from, until))) >> 32));
        return asks(vault, b, signed(vault, b, AGENT_KEY)) == YES;
    }

    function test_void_ends_every_bill_of_the_epoch_and_is_the_owners_and_the_agents() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Purse purse = purseOf(vault);
        Bill memory b = Bill(THIEF, USD, START + 1 days, START + 1 days + 600, nonce(vault, 1));
        bytes memory s = signed(vault, b, AGENT_KEY);
        vm.prank(OWNER);
        purse.void();
        vm.warp(START + 1 days + 60);
        require(purse.epoch() == 1 && !settles(vault, b, s), "voided");
        require(pays(vault, SELLER, USD, 2));
        vm.prank(AGENT);
        purse.void();
        require(purse.epoch() == 2);
        require(!_voids(purse, THIEF) && !_voids(purse, KEEPER) && !_voids(purse, address(vault)) && !_voids(purse, address(hub)));
        vm.prank(OWNER);
        vault.revokeAgent();
        require(!_voids(purse, AGENT), "a revoked agent");
        require(_voids(purse, OWNER) && purse.epoch() == 3);
        vm.prank(OWNER);
        vault.stop();
        require(!_voids(purse, AGENT) && _voids(purse, OWNER));
    }

    function _voids(Purse purse, address by) private returns (bool ok) {
        vm.prank(by);
        (ok,) = address(purse).call(abi.encodeCall(Purse.void, ()));
    }

    function test_the_last_epoch_stays_and_no_bill_of_the_first_lives_again() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Bill memory b = bill(vault, SELLER, USD, 1);
        bytes memory s = signed(vault, b, AGENT_KEY);
        vm.store(address(purseOf(vault)), 0, bytes32(uint256(type(uint32).max)));
        require(!_voids(purseOf(vault), OWNER) && purseOf(vault).epoch() == type(uint32).max);
        require(!settles(vault, b, s) && pays(vault, SELLER, USD, 2));
    }

    function test_pause_stop_end_and_settlement_make_every_bill_invalid() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Bill memory b = bill(vault, SELLER, USD, 1);
        bytes memory s = signed(vault, b, AGENT_KEY);
        uint256 id = vm.snapshotState();
        vm.prank(OWNER);
        vault.revokeAgent();
        require(!settles(vault, b, s), "paused");
        vm.prank(OWNER);
        vault.setAgent(AGENT);
        require(asks(vault, b, s) == YES, "resumed");
        vm.revertToState(id);
        vm.prank(OWNER);
        vault.stop();
        require(!settles(vault, b, s), "stopped by the owner");
        vm.revertToState(id);
        vm.prank(AGENT);
        vault.stop();
        require(!settles(vault, b, s), "stopped by the agent");
        vm.revertToState(id);
        vm.prank(OWNER);
        vault.withdrawAll();
        require(!settles(vault, b, s), "settled");
        vm.revertToState(id);
        vm.warp(START + 30 days - 1);
        require(pays(vault, SELLER, USD, 2));
        vm.warp(START + 30 days);
        require(!pays(vault, SELLER, USD, 3), "ended");
        vm.revertToState(id);
        require(settles(vault, b, s) && !settles(vault, b, s), "a nonce twice");
    }

    // ------------------------------------------------------------------ whose bills, and which

    function test_other_keys_payees_amounts_nonces_chains_and_messages_are_refused() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Bill memory b = bill(vault, SELLER, USD, 1);
        require(!settles(vault, b, signed(vault, b, THIEF_KEY)) && !settles(vault, b, signed(vault, b, OWNER_KEY)), "key");
        bytes memory s = signed(vault, b, AGENT_KEY);
        require(!settles(vault, Bill(THIEF, b.value, b.validAfter, b.validBefore, b.nonce), s), "payee");
        require(!settles(vault, Bill(SELLER, 2 * USD, b.validAfter, b.validBefore, b.nonce), s), "amount");
        require(!settles(vault, Bill(SELLER, b.value, b.validAfter, b.validBefore, nonce(vault, 2)), s), "nonce");
        uint256 was = block.chainid;
        vm.chainId(999);
        require(!settles(vault, b, s), "a fork");
        vm.chainId(was);
        _refuseOtherMessages(vault, b);
        require(settles(vault, b, s));
    }

    function _refuseOtherMessages(MandateVault vault, Bill memory b) private {
        address purse = address(purseOf(vault));
        bytes32 receive_ = keccak256(
            "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
        );
        bytes32 permit = keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");
        bytes32[4] memory messages = [
            keccak256(abi.encode(receive_, purse, b.to, b.value, b.validAfter, b.validBefore, b.nonce)),
            keccak256(abi.encode(keccak256("CancelAuthorization(address authorizer,bytes32 nonce)"), purse, b.nonce)),
            keccak256(abi.encode(permit, purse, b.to, b.value, 0, b.validBefore)),
            keccak256(abi.encode(TRANSFER, address(vault), b.to, b.value, b.validAfter, b.validBefore, b.nonce))
        ];
        for (uint256 i; i < 4; ++i) {
            bytes memory s = bytes.concat(abi.encode(b), sign(AGENT_KEY, typed(messages[i])));
            require(Purse(purse).isValidSignature(typed(messages[i]), s) == NO);
        }
        (bool ok,) = address(usdc).call(
            abi.encodeWithSignature("cancelAuthorization(address,bytes32,bytes)", purse, b.nonce, signed(vault, b, AGENT_KEY))
        );
        require(!ok);
    }

    function test_a_bill_to_the_vault_the_purse_or_the_hub_is_refused() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        require(!pays(vault, address(vault), USD, 1) && !pays(vault, address(purseOf(vault)), USD, 2));
        require(!pays(vault, address(hub), USD, 3) && pays(vault, OWNER, USD, 4));
    }

    function test_bytes_of_any_other_form_are_answered_with_a_no() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Purse purse = purseOf(vault);
        for (uint256 n; n < 600; n += 13) require(purse.isValidSignature(bytes32(n), new bytes(n)) == NO);
        Bill memory b = bill(vault, SELLER, USD, 1);
        bytes32 hash = typed(messageOf(vault, b));
        bytes memory s = signed(vault, b, AGENT_KEY);
        require(purse.isValidSignature(hash, s) == YES && purse.isValidSignature(bytes32(uint256(hash) ^ 1), s) == NO);
        s[0] = 0x01; // a dirty address word
        require(purse.isValidSignature(hash, s) == NO);
        s[0] = 0x00;
        s[224] = 0x05; // no recovery id
        require(purse.isValidSignature(hash, s) == NO);
        s = signed(vault, b, AGENT_KEY);
        (bytes32 half, bytes32 r) = (bytes32(0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141), 0);
        assembly {
            r := mload(add(s, 0xe0)) // the signature's second word
            mstore(add(s, 0xe0), sub(half, r))
        }
        s[224] = s[224] == 0x1b ? bytes1(0x1c) : bytes1(0x1b);
        require(purse.isValidSignature(hash, s) == NO, "the high twin");
    }

    function test_a_grant_of_any_other_form_is_answered_with_a_no() public {
        Rules memory r = usual();
        r.above = 10 * USD;
        MandateVault vault = open(r);
        funds(vault, 10 * USD);
        Bill memory b = bill(vault, SELLER, 20 * USD, 1);
        bytes memory bare = signed(vault, b, AGENT_KEY);
        bytes memory good = approved(vault, b, uint64(block.timestamp + 60), OWNER_KEY);
        require(asks(vault, b, good) == YES);
        for (uint256 n = bare.length; n < good.length - 31; n += 7) require(asks(vault, b, _cut(good, n)) == NO, "cut short");
        uint256[5] memory words = [type(uint256).max, type(uint256).max - 31, 1 << 64, 1 << 128, 7 * 32];
        for (uint256 word; word < 5; ++word) {
            for (uint256 i; i < 5; ++i) {
                bytes memory bad = bytes.concat(good);
                _put(bad, 225 + word * 32, words[i]);
                require(asks(vault, b, bad) == NO, "another word");
            }
        }
        b = bill(vault, SELLER, USD, 2);
        bare = signed(vault, b, AGENT_KEY);
        require(asks(vault, b, bare) == YES && asks(vault, b, bytes.concat(bare, hex"00")) == NO, "bytes behind it");
        bytes memory none = abi.encode(new bytes32[](0), uint64(0), bytes(""));
        require(asks(vault, b, bytes.concat(bare, none)) == YES, "a grant that it does not need");
    }

    function _cut(bytes memory whole, uint256 size) private pure returns (bytes memory part) {
        part = new bytes(size);
        for (uint256 i; i < size; ++i) part[i] = whole[i];
    }

    function _put(bytes memory where, uint256 offset, uint256 word) private pure {
        assembly {
            mstore(add(add(where, 0x20), offset), word)
        }
    }

    function test_no_bytes_make_the_check_revert(bytes32 hash, bytes calldata junk, bytes calldata grant) public {
        Rules memory r = usual();
        r.above = 10 * USD;
        MandateVault vault = open(r);
        funds(vault, 10 * USD);
        require(purseOf(vault).isValidSignature(hash, junk) == NO);
        Bill memory b = bill(vault, SELLER, 20 * USD, 1);
        require(asks(vault, b, bytes.concat(signed(vault, b, AGENT_KEY), grant)) == NO);
    }

    // ------------------------------------------------------------------ whose purse

    function test_only_vaults_of_the_factory_have_purses() public {
        (bool ok,) = address(hub).call(abi.encodeCall(PurseHub.fund, (0)));
        require(!ok, "an account");
        (ok,) = address(hub).call(abi.encodeCall(PurseHub.sweep, (AGENT)));
        require(!ok, "an account's");
        FakeVault fake = new FakeVault();
        (ok,) = address(fake).call(abi.encodeCall(FakeVault.fund, (hub)));
        require(!ok, "a contract that calls itself a vault");
        (ok,) = address(hub).call(abi.encodeCall(PurseHub.sweep, (address(fake))));
        require(!ok, "its sweep");
        VaultConfig memory c;
        (c.owner, c.agent, c.budget, c.perTxCap, c.dailyCap) = (THIEF, THIEF, 1 << 127, 1 << 127, 1 << 127);
        c.endsAt = type(uint64).max;
        AllowedCall[] memory list = new AllowedCall[](1);
        list[0] = AllowedCall(address(hub), PurseHub.fund.selector, 0);
        bytes memory args = abi.encode(c, list, new ValueProbe[](0));
        address copy = Clones.cloneDeterministicWithImmutableArgs(factory.IMPLEMENTATION(), args, c.digest);
        bytes memory data = abi.encodeCall(PurseHub.fund, (0));
        vm.prank(THIEF);
        (ok,) = copy.call(abi.encodeCall(MandateVault.execute, (address(hub), data, 0)));
        require(!ok, "a clone of the vault's code with terms of somebody's own");
    }

    function test_a_hub_serves_no_vault_of_another_factory() public {
        PurseHub was = hub;
        factory = new MandateVaultFactory(IERC20(address(usdc)), KEEPER, true);
        MandateVault vault = open(usual());
        require(!funds(vault, USD), "the hub of the first factory");
        (bool made,) = was.purseOf(address(vault));
        require(!made && vault.totalSpent() == 0);
    }

    function test_the_code_of_purses_is_no_purse() public {
        MandateVault vault = open(usual());
        funds(vault, USD);
        Purse code = Purse(hub.PURSE());
        Bill memory b = bill(vault, SELLER, USD, 0);
        require(code.isValidSignature(typed(messageOf(vault, b)), signed(vault, b, AGENT_KEY)) == NO);
        require(!_voids(code, OWNER));
        (bool ok,) = address(code).staticcall(abi.encodeCall(Purse.config, ()));
        require(!ok);
    }

    function test_a_purse_moves_usdc_for_its_hub_alone() public {
        MandateVault vault = open(usual());
        funds(vault, USD);
        address[4] memory callers = [OWNER, AGENT, KEEPER, address(vault)];
        for (uint256 i; i < 4; ++i) {
            vm.prank(callers[i]);
            (bool ok,) = address(purseOf(vault)).call(abi.encodeCall(Purse.send, (callers[i], USD)));
            require(!ok);
            vm.prank(callers[i]);
            (ok,) = address(hub).call(abi.encodeCall(PurseHub.voided, (address(vault), 0, 9)));
            require(!ok, "told of a void that was none");
        }
    }

    function test_draining_is_of_the_callers_own_purse() public {
        MandateVault vault = open(usual());
        hub.drain();
        require(drains(vault) && vault.totalReturned() == 0, "nothing opened: nothing happens");
        funds(vault, 50 * USD);
        vm.prank(THIEF);
        hub.drain();
        require(usdc.balanceOf(address(purseOf(vault))) == 50 * USD && usdc.balanceOf(THIEF) == 0);
    }

    // ------------------------------------------------------------------ the way out, and gifts

    function _sweeps(MandateVault vault) private returns (bool ok) {
        vm.prank(THIEF);
        (ok,) = address(hub).call(abi.encodeCall(PurseHub.sweep, (address(vault))));
    }

    function test_after_the_settlement_one_call_of_anybody_brings_all_to_the_owner() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        require(!_sweeps(vault), "working");
        vm.prank(OWNER);
        vault.stop();
        require(!_sweeps(vault), "stopped, not settled");
        vm.prank(OWNER);
        vault.withdrawAll();
        require(_sweeps(vault) && usdc.balanceOf(OWNER) == 1_000 * USD);
        require(_sweeps(vault) && usdc.balanceOf(OWNER) == 1_000 * USD, "nothing twice");
        usdc.mint(address(purseOf(vault)), 3);
        require(_sweeps(vault) && usdc.balanceOf(OWNER) == 1_000 * USD + 3, "a late refund");
    }

    function test_a_purse_that_was_never_opened_is_swept_too() public {
        MandateVault vault = open(usual());
        uint256 id = vm.snapshotState();
        funds(vault, 0);
        address purse = address(purseOf(vault));
        vm.revertToState(id);
        usdc.mint(purse, 30 * USD);
        require(!_sweeps(vault) && address(purseOf(vault)) == address(0), "working");
        vm.prank(OWNER);
        vault.withdrawAll();
        require(_sweeps(vault) && address(purseOf(vault)) == purse && usdc.balanceOf(OWNER) == 1_030 * USD);
    }

    function test_the_keeper_takes_it_back_before_the_settlement_and_the_fee_counts_it() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        usdc.mint(address(hostile), 50 * USD);
        executes(vault, address(hostile), abi.encodeCall(HostileTarget.give, (50 * USD)), 0);
        vm.prank(OWNER);
        vault.stop();
        vm.prank(KEEPER);
        vault.unwind(address(hub), abi.encodeCall(PurseHub.drain, ()));
        vm.prank(KEEPER);
        vault.settle();
        require(vault.feeOwed() == 15 * USD && vault.totalReturned() == 100 * USD);
    }

    function test_a_gift_goes_to_the_owner_and_is_no_gain() public {
        MandateVault vault = open(usual());
        funds(vault, USD);
        usdc.mint(address(purseOf(vault)), 100 * USD);
        require(!funds(vault, 1) && drains(vault) && funds(vault, 1), "a gift fills the float until it is taken out");
        require(usdc.balanceOf(OWNER) == 100 * USD && vault.totalReturned() == USD);
        vm.prank(OWNER);
        vault.withdrawAll();
        require(vault.feeOwed() == 0);
    }

    function test_what_was_taken_out_makes_no_room_for_a_gift() public {
        MandateVault vault = open(usual());
        require(funds(vault, 50 * USD) && drains(vault));
        usdc.mint(address(purseOf(vault)), 30 * USD);
        require(drains(vault) && usdc.balanceOf(OWNER) == 30 * USD && vault.totalReturned() == 50 * USD);
    }

    function test_a_gift_above_the_float_does_not_keep_a_purse_from_opening() public {
        MandateVault vault = open(usual());
        uint256 id = vm.snapshotState();
        funds(vault, 0);
        address purse = address(purseOf(vault));
        vm.revertToState(id);
        usdc.mint(purse, 101 * USD);
        require(!funds(vault, 1) && funds(vault, 0) && drains(vault) && funds(vault, 50 * USD));
        require(usdc.balanceOf(OWNER) == 101 * USD && vault.totalReturned() == 0);
    }

    function test_an_owner_that_usdc_refuses_holds_nothing_up() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        address purse = address(purseOf(vault));
        usdc.mint(purse, 7 * USD);
        usdc.setBlacklisted(OWNER, true);
        require(drains(vault) && vault.totalReturned() == 50 * USD && usdc.balanceOf(purse) == 7 * USD);
        require(drains(vault) && vault.totalReturned() == 50 * USD, "the surplus never becomes a return");
        require(funds(vault, 50 * USD) && pays(vault, SELLER, USD, 1));
        usdc.setBlacklisted(OWNER, false);
        require(drains(vault) && usdc.balanceOf(OWNER) == 6 * USD && vault.totalReturned() == 100 * USD);
    }

    function test_a_frozen_payee_or_purse_or_a_paused_usdc_breaks_nothing_else() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        usdc.setBlacklisted(SELLER, true);
        require(!pays(vault, SELLER, USD, 1) && pays(vault, THIEF, USD, 2));
        address purse = address(purseOf(vault));
        usdc.setBlacklisted(purse, true);
        require(!pays(vault, THIEF, USD, 3) && !funds(vault, 1) && !drains(vault));
        require(executes(vault, address(hostile), abi.encodeCall(HostileTarget.take, (USD)), USD), "the vault works");
        usdc.setBlacklisted(purse, false);
        usdc.setPaused(true);
        require(!pays(vault, THIEF, USD, 4) && !drains(vault));
        usdc.setPaused(false);
        require(pays(vault, THIEF, USD, 4) && drains(vault) && vault.totalReturned() == 48 * USD);
        vm.prank(OWNER);
        require(vault.withdrawAll() == 997 * USD);
    }

    // ------------------------------------------------------------------ the floor

    function test_no_view_of_hub_or_purse_is_a_value() public {
        bytes4[8] memory views = [
            PurseHub.purseOf.selector, PurseHub.PER_PAYMENT.selector, PurseHub.PER_DAY.selector, PurseHub.FLOAT.selector,
            PurseHub.PAYEES.selector, PurseHub.FACTORY.selector, PurseHub.USDC.selector, PurseHub.PURSE.selector
        ];
        for (uint256 i; i < 8; ++i) {
            deploy(Policy(uint128(BUDGET), uint128(BUDGET), uint128(BUDGET), 0), true);
            Rules memory r = usual();
            (r.perTx, r.daily, r.floorBps, r.hubProbe) = (500 * USD, 500 * USD, 1_000, views[i]);
            MandateVault vault = open(r);
            require(funds(vault, USD));
            (, uint256 positions,,) = vault.worth();
            require(positions <= 1, "a view that reads as a value");
            require(!executes(vault, address(slip), abi.encodeCall(SlipMarket.buy, (300 * USD, 300 * USD)), 300 * USD));
            bytes4[2] memory own = [Purse.config.selector, Purse.epoch.selector];
            for (uint256 j; j < 2; ++j) {
                (bool ok,) = address(purseOf(vault)).staticcall(abi.encodeWithSelector(own[j], address(vault)));
                require(!ok);
            }
        }
    }

    function test_what_is_in_the_purse_counts_as_spent_for_the_floor() public {
        Rules memory r = usual();
        r.floorBps = 500;
        MandateVault vault = open(r);
        require(funds(vault, 50 * USD) && !funds(vault, 1), "cash is at the floor");
        vm.prank(KEEPER);
        vault.mark();
        require(vault.stoppedAt() == 0, "at the floor, not below");
        require(drains(vault) && funds(vault, 50 * USD));
    }

    // ------------------------------------------------------------------ inside one action

    function test_a_listed_target_that_settles_a_bill_in_the_middle_of_an_action_wins_nothing() public {
        MandateVault vault = open(usual());
        funds(vault, 50 * USD);
        Bill memory b = bill(vault, THIEF, 20 * USD, 1);
        bytes memory data = abi.encodeWithSelector(
            0xcf092995, address(purseOf(vault)), b.to, b.value, b.validAfter, b.validBefore, b.nonce, signed(vault, b, AGENT_KEY)
        );
        hostile.setReentry(address(usdc), data);
        require(executes(vault, address(hostile), abi.encodeCall(HostileTarget.reenter, (0)), 0) && hostile.lastReentryOk());
        require(usdc.balanceOf(THIEF) == 20 * USD && vault.totalReturned() == 0 && vault.totalSpent() == 50 * USD);
        hostile.setReentry(address(hub), abi.encodeCall(PurseHub.drain, ()));
        require(executes(vault, address(hostile), abi.encodeCall(HostileTarget.reenter, (0)), 0));
        hostile.setReentry(address(hub), abi.encodeCall(PurseHub.fund, (USD)));
        require(executes(vault, address(hostile), abi.encodeCall(HostileTarget.reenter, (USD)), USD));
        require(!hostile.lastReentryOk() && usdc.balanceOf(address(purseOf(vault))) == 30 * USD);
        require(vault.cash() == vault.totalDeposited() + vault.totalReturned() - vault.totalSpent());
    }

    function test_without_an_allowance_the_hub_takes_nothing() public {
        MandateVault vault = open(usual());
        require(!executes(vault, address(hub), abi.encodeCall(PurseHub.fund, (USD)), USD - 1));
        require(executes(vault, address(hub), abi.encodeCall(PurseHub.fund, (USD)), 2 * USD));
        require(vault.totalSpent() == USD && usdc.allowance(address(vault), address(hub)) == 0);
        vm.prank(OWNER);
        vault.stop();
        vm.prank(KEEPER);
        (bool ok,) = address(vault).call(abi.encodeCall(vault.unwind, (address(hub), abi.encodeCall(PurseHub.fund, (USD)))));
        require(!ok, "funded after the close");
    }

    // ------------------------------------------------------------------ the deployer

    function test_a_hub_is_made_once_and_its_address_is_its_policy() public {
        Policy memory p = Policy(1, 2, 3, bytes32(uint256(4)));
        address told = deployer.hubOf(p);
        require(told.code.length == 0);
        vm.prank(THIEF);
        require(deployer.deploy(p) == told && told.code.length != 0 && deployer.deploy(p) == told);
        PurseHub made = PurseHub(told);
        require(made.PER_PAYMENT() == 1 && made.PER_DAY() == 2 && made.FLOAT() == 3 && made.PAYEES() == bytes32(uint256(4)));
        require(made.FACTORY() == address(factory) && made.USDC() == address(usdc));
        Policy[4] memory others = [
            Policy(2, 2, 3, p.payees), Policy(1, 3, 3, p.payees), Policy(1, 2, 4, p.payees), Policy(1, 2, 3, bytes32(uint256(5)))
        ];
        for (uint256 i; i < 4; ++i) require(deployer.hubOf(others[i]) != told);
        PurseHubDeployer other = new PurseHubDeployer(
            IVaultFactory(address(new MandateVaultFactory(IERC20(address(usdc)), KEEPER, false)))
        );
        require(other.hubOf(p) != told);
    }

    function test_a_purse_holds_what_the_owner_signed() public {
        Rules memory r = usual();
        (r.perTx, r.daily, r.above) = (40 * USD, 70 * USD, 9 * USD);
        MandateVault vault = open(r);
        funds(vault, 0);
        (VaultConfig memory t,,) = vault.terms();
        PurseConfig memory c = purseOf(vault).config();
        require(c.vault == address(vault) && c.owner == OWNER && c.perPayment == 40 * USD && c.perDay == 70 * USD);
        require(c.float == 70 * USD && c.endsAt == t.endsAt && c.approvalAbove == 9 * USD && c.payees == 0 && c.mandate == t.digest);
        bytes memory args = abi.encode(c);
        address told = Clones.predictDeterministicAddressWithImmutableArgs(hub.PURSE(), args, t.digest, address(hub));
        require(told == address(purseOf(vault)), "the address commits to it");
    }
}

/// @notice Says of itself what it likes.
contract FakeVault {
    bytes public pad = new bytes(100);

    function fund(PurseHub hub) external {
        hub.fund(0);
    }

    function agent() external view returns (address) {
        return address(this);
    }

    function settled() external pure returns (bool) {
        return true;
    }
}

/// @notice Limits that the owner chose by the hub's address: 2 a payment, 10 a day, 5 in the purse, two payees.
contract PursePolicyTest is PurseSetting {
    address private constant OTHER = address(0x1234);
    bytes32 private _seller;
    bytes32 private _other;

    function setUp() public {
        (_seller, _other) = (_leaf(SELLER), _leaf(OTHER));
        bytes32 root = _seller < _other ? keccak256(bytes.concat(_seller, _other)) : keccak256(bytes.concat(_other, _seller));
        deploy(Policy(uint128(2 * USD), uint128(10 * USD), uint128(5 * USD), root), true);
    }

    function _leaf(address payee) private pure returns (bytes32) {
        return keccak256(bytes.concat(keccak256(abi.encode(payee))));
    }

    function _proven(MandateVault vault, Bill memory b, bytes32 beside) private returns (bytes memory) {
        bytes32[] memory proof = new bytes32[](1);
        proof[0] = beside;
        return bytes.concat(signed(vault, b, AGENT_KEY), abi.encode(proof, uint64(0), bytes("")));
    }

    function test_the_policy_bounds_payment_and_payee() public {
        MandateVault vault = open(usual());
        require(funds(vault, 5 * USD));
        require(!pays(vault, THIEF, USD, 1) && !pays(vault, SELLER, USD, 2), "no proof");
        Bill memory b = bill(vault, SELLER, 2 * USD, 3);
        require(asks(vault, b, _proven(vault, b, _seller)) == NO, "a proof of nothing");
        require(settles(vault, b, _proven(vault, b, _other)));
        b = bill(vault, OTHER, USD, 4);
        require(settles(vault, b, _proven(vault, b, _seller)), "the other payee");
        b = bill(vault, THIEF, USD, 5);
        require(!settles(vault, b, _proven(vault, b, _other)), "another payee with somebody's proof");
        b = bill(vault, SELLER, 2 * USD + 1, 6);
        require(!settles(vault, b, _proven(vault, b, _other)), "above the policy's payment");
        bytes memory cut = bytes.concat(signed(vault, b, AGENT_KEY), abi.encode(new bytes32[](0), uint64(0), bytes("")));
        require(asks(vault, b, cut) == NO, "an empty proof");
    }

    function test_the_inner_nodes_of_the_list_are_no_payees() public {
        MandateVault vault = open(usual());
        funds(vault, 5 * USD);
        // The root proves itself with no siblings; a payee whose leaf is the root cannot be found, one whose address is its end can.
        Bill memory b = bill(vault, address(uint160(uint256(hub.PAYEES()))), USD, 1);
        bytes memory empty = abi.encode(new bytes32[](0), uint64(0), bytes(""));
        require(asks(vault, b, bytes.concat(signed(vault, b, AGENT_KEY), empty)) == NO);
    }

    function test_the_policy_bounds_float_and_day() public {
        MandateVault vault = open(usual());
        require(funds(vault, 5 * USD) && !funds(vault, 1), "the float");
        require(drains(vault) && funds(vault, 5 * USD) && drains(vault) && !funds(vault, 1), "ten a day, gross");
        vm.warp(block.timestamp + 1 days);
        require(funds(vault, 5 * USD));
    }

    function test_a_policy_above_the_mandate_is_the_mandate() public {
        deploy(Policy(uint128(BUDGET), uint128(BUDGET), uint128(BUDGET), 0), true);
        MandateVault vault = open(usual());
        require(funds(vault, 50 * USD) && funds(vault, 50 * USD) && !funds(vault, 1));
        require(!pays(vault, SELLER, 50 * USD + 1, 1) && pays(vault, SELLER, 50 * USD, 2));
    }
}
