// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Create2} from "@openzeppelin/contracts/utils/Create2.sol";
import {IVaultFactory} from "./Purse.sol";
import {Policy, PurseHub} from "./PurseHub.sol";

/// @title Makes the hub of a policy, at an address that commits to it.
/// @notice No admin and no state. An owner who signs a hub's address signs its limits too. Anybody may deploy a hub: it is the
///         same one, whoever does.
contract PurseHubDeployer {
    event HubDeployed(address indexed hub, Policy policy);

    IVaultFactory public immutable FACTORY;

    constructor(IVaultFactory factory) {
        FACTORY = factory;
    }

    /// @notice Where the hub of `policy` is, or will be.
    function hubOf(Policy memory policy) public view returns (address) {
        return Create2.computeAddress(0, keccak256(bytes.concat(type(PurseHub).creationCode, abi.encode(FACTORY, policy))));
    }

    function deploy(Policy memory policy) external returns (address hub) {
        hub = hubOf(policy);
        if (hub.code.length != 0) return hub;
        new PurseHub{salt: 0}(FACTORY, policy);
        emit HubDeployed(hub, policy);
    }
}
