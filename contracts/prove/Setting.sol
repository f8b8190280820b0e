// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {TestUSDC} from "../mocks/TestUSDC.sol";
import {MandateVault} from "../src/MandateVault.sol";
import {MandateVaultFactory} from "../src/MandateVaultFactory.sol";
import {AllowedCall, MandateTerms, ValueProbe} from "../src/MandateTypes.sol";
import {vm} from "./Vm.sol";

/// @notice One vault: budget 1,000, 200 an action, 500 a day, floor 800, fee 30%, approvals on chain above 150.
abstract contract Setting {
    uint256 internal constant USD = 1e6;
    uint256 internal constant BUDGET = 1_000 * USD;
    uint256 internal constant CAP = 200 * USD;
    uint256 internal constant DAY_CAP = 500 * USD;
    uint256 internal constant FLOOR = 800 * USD;
    uint256 internal constant FEE_BPS = 3_000;
    uint256 internal constant ABOVE = 150 * USD;
    uint256 internal constant START = 1_800_000_000;

    TestUSDC internal usdc;
    MandateVaultFactory internal factory;
    MandateVault internal vault;

    function found(address keeper) internal {
        usdc = new TestUSDC();
        factory = new MandateVaultFactory(IERC20(address(usdc)), keeper, true);
    }

    function open(address owner, address agent, AllowedCall[] memory calls, ValueProbe[] memory probes) internal {
        MandateTerms memory t = MandateTerms({
            publicId: "m_0000000001", owner: owner, agent: agent, budgetUsdc: BUDGET, perTxCap: CAP, dailyCap: DAY_CAP,
            stopFloor: FLOOR, stopFloorBps: 2_000, horizonDays: 30, endsAt: uint64(START + 30 days),
            agentFeeBps: uint16(FEE_BPS), approvalAbove: ABOVE, onFloor: 1,
            allowedTargetsHash: factory.targetsHashOf(calls, probes), guardTargetsHash: keccak256("[]"),
            issuedAt: uint64(START), nonce: 1
        });
        vm.prank(owner);
        vault = MandateVault(factory.create(t, calls, probes, ""));
        usdc.mint(owner, BUDGET);
        vm.prank(owner);
        usdc.approve(address(vault), BUDGET);
        vm.prank(owner);
        vault.deposit(BUDGET);
    }
}
