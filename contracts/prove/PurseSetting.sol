// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {HostileTarget, SlipMarket} from "../mocks/Hostile.sol";
import {TestUSDC} from "../mocks/TestUSDC.sol";
import {MandateVault} from "../src/MandateVault.sol";
import {MandateVaultFactory} from "../src/MandateVaultFactory.sol";
import {AllowedCall, MandateTerms, ValueProbe, VaultConfig} from "../src/MandateTypes.sol";
import {Bill, IVaultFactory, Purse} from "../src/Purse.sol";
import {Policy, PurseHub} from "../src/PurseHub.sol";
import {PurseHubDeployer} from "../src/PurseHubDeployer.sol";
import {vm} from "./Vm.sol";

/// @notice Vaults with a purse, and bills signed by anybody: budget 1,000, 50 an action, 100 a day, floor 500, fee 30%.
abstract contract PurseSetting {
    uint256 internal constant USD = 1e6;
    uint256 internal constant BUDGET = 1_000 * USD;
    uint256 internal constant START = 1_800_000_000 - 1_800_000_000 % 1 days; // midnight, UTC
    uint256 internal constant OWNER_KEY = 0xA11CE;
    uint256 internal constant AGENT_KEY = 0xA6E27;
    uint256 internal constant THIEF_KEY = 0xBAD;
    address internal constant KEEPER = address(0x4EE9E4);
    address internal constant SELLER = address(0x5E11E4);
    address internal immutable OWNER = vm.addr(OWNER_KEY);
    address internal immutable AGENT = vm.addr(AGENT_KEY);
    address internal immutable THIEF = vm.addr(THIEF_KEY);
    bytes32 internal constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes4 internal constant YES = 0x1626ba7e;
    bytes4 internal constant NO = 0xffffffff;

    TestUSDC internal usdc;
    MandateVaultFactory internal factory;
    PurseHubDeployer internal deployer;
    PurseHub internal hub;
    SlipMarket internal slip;
    HostileTarget internal hostile;

    struct Rules {
        uint256 perTx;
        uint256 daily;
        uint256 above;
        uint16 floorBps;
        bytes4 hubProbe; // a view of the hub as a second value probe; zero: none
    }

    function deploy(Policy memory policy, bool approvals) internal {
        vm.warp(START);
        usdc = new TestUSDC();
        factory = new MandateVaultFactory(IERC20(address(usdc)), KEEPER, approvals);
        deployer = new PurseHubDeployer(IVaultFactory(address(factory)));
        hub = PurseHub(deployer.deploy(policy));
        slip = new SlipMarket(IERC20(address(usdc)));
        hostile = new HostileTarget(IERC20(address(usdc)));
    }

    function usual() internal pure returns (Rules memory) {
        return Rules(50 * USD, 100 * USD, 0, 5_000, 0);
    }

    function calls() internal view returns (AllowedCall[] memory c) {
        c = new AllowedCall[](7);
        c[0] = AllowedCall(address(hub), PurseHub.fund.selector, 0);
        c[1] = AllowedCall(address(hub), PurseHub.drain.selector, 0);
        c[2] = AllowedCall(address(slip), SlipMarket.buy.selector, 0);
        c[3] = AllowedCall(address(slip), SlipMarket.sell.selector, 0);
        c[4] = AllowedCall(address(hostile), HostileTarget.take.selector, 0);
        c[5] = AllowedCall(address(hostile), HostileTarget.give.selector, 0);
        c[6] = AllowedCall(address(hostile), HostileTarget.reenter.selector, 0);
    }

    function open(Rules memory r) internal returns (MandateVault vault) {
        AllowedCall[] memory c = calls();
        ValueProbe[] memory p = new ValueProbe[](r.hubProbe == 0 ? 1 : 2);
        p[0] = ValueProbe(address(slip), slip.worthOf.selector);
        if (r.hubProbe != 0) p[1] = ValueProbe(address(hub), r.hubProbe);
        MandateTerms memory t = MandateTerms({
            publicId: "m_0000000001", owner: OWNER, agent: AGENT, budgetUsdc: BUDGET, perTxCap: r.perTx, dailyCap: r.daily,
            stopFloor: BUDGET * (10_000 - r.floorBps) / 10_000, stopFloorBps: r.floorBps, horizonDays: 30,
            endsAt: uint64(START + 30 days), agentFeeBps: 3_000, approvalAbove: r.above, onFloor: 0,
            allowedTargetsHash: factory.targetsHashOf(c, p), guardTargetsHash: keccak256("[]"), issuedAt: uint64(START), nonce: 1
        });
        vm.prank(OWNER);
        vault = MandateVault(factory.create(t, c, p, ""));
        usdc.mint(OWNER, BUDGET);
        vm.prank(OWNER);
        usdc.approve(address(vault), BUDGET);
        vm.prank(OWNER);
        vault.deposit(BUDGET);
    }

    // ------------------------------------------------------------------ what the agent does

    function executes(MandateVault vault, address target, bytes memory data, uint256 approve) internal returns (bool ok) {
        vm.prank(AGENT);
        (ok,) = address(vault).call(abi.encodeCall(vault.execute, (target, data, approve)));
    }

    function funds(MandateVault vault, uint256 amount) internal returns (bool) {
        return executes(vault, address(hub), abi.encodeCall(PurseHub.fund, (amount)), amount);
    }

    function drains(MandateVault vault) internal returns (bool) {
        return executes(vault, address(hub), abi.encodeCall(PurseHub.drain, ()), 0);
    }

    /// @dev A bill of ten minutes that the agent signs, settled.
    function pays(MandateVault vault, address to, uint256 value, uint256 n) internal returns (bool) {
        Bill memory b = bill(vault, to, value, n);
        return settles(vault, b, signed(vault, b, AGENT_KEY));
    }

    // ------------------------------------------------------------------ bills

    function purseOf(MandateVault vault) internal view returns (Purse) {
        (, address purse) = hub.purseOf(address(vault));
        return Purse(purse);
    }

    function bill(MandateVault vault, address to, uint256 value, uint256 n) internal view returns (Bill memory) {
        return Bill(to, value, block.timestamp - 1, block.timestamp + 600, nonce(vault, n));
    }

    function nonce(MandateVault vault, uint256 n) internal view returns (bytes32) {
        return bytes32(uint256(purseOf(vault).epoch()) << 224 | n);
    }

    function messageOf(MandateVault vault, Bill memory b) internal view returns (bytes32) {
        return keccak256(
            abi.encode(TRANSFER, address(purseOf(vault)), b.to, b.value, b.validAfter, b.validBefore, b.nonce)
        );
    }

    function typed(bytes32 message) internal view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", usdc.DOMAIN_SEPARATOR(), message));
    }

    function sign(uint256 key, bytes32 digest) internal returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function signed(MandateVault vault, Bill memory b, uint256 key) internal returns (bytes memory) {
        return bytes.concat(abi.encode(b), sign(key, typed(messageOf(vault, b))));
    }

    /// @dev The bill of the agent with an ApproveAction by `key`.
    function approved(MandateVault vault, Bill memory b, uint64 until, uint256 key) internal returns (bytes memory) {
        (VaultConfig memory c,,) = vault.terms();
        bytes32 action = keccak256(abi.encode(address(purseOf(vault)), b.to, messageOf(vault, b), b.value));
        bytes memory approval = sign(key, factory.approvalDigestOf(c.digest, action, until));
        return bytes.concat(signed(vault, b, AGENT_KEY), abi.encode(new bytes32[](0), until, approval));
    }

    function asks(MandateVault vault, Bill memory b, bytes memory signature) internal view returns (bytes4) {
        return purseOf(vault).isValidSignature(typed(messageOf(vault, b)), signature);
    }

    function settles(MandateVault vault, Bill memory b, bytes memory signature) internal returns (bool ok) {
        bytes memory data = abi.encodeWithSelector(
            0xcf092995, address(purseOf(vault)), b.to, b.value, b.validAfter, b.validBefore, b.nonce, signature
        );
        (ok,) = address(usdc).call(data);
    }
}
