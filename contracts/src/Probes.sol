// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ValueProbe} from "./MandateTypes.sol";

/// @notice What the signed value probes of a vault answer.
library Probes {
    error ProbeGas();

    uint256 internal constant SILENT = type(uint256).max;
    uint256 private constant PROBE_GAS = 300_000;

    /// @dev Each probe's value in the order of the terms, SILENT where it did not answer; it then adds nothing to `sum`.
    ///      `whole` where every one answered, so that `sum` is what the positions are worth.
    struct Observation {
        uint256[] values;
        uint256 sum;
        bool whole;
    }

    /// @dev The gas check keeps a caller from making a probe fail by sending too little; the cap and the one word taken keep a
    ///      probe from making its caller pay.
    function observe(ValueProbe[] memory probes) internal view returns (Observation memory found) {
        found.values = new uint256[](probes.length);
        found.whole = true;
        for (uint256 i = 0; i < probes.length; ++i) {
            address target = probes[i].target;
            bytes memory data = abi.encodeWithSelector(probes[i].selector, address(this));
            if (gasleft() < PROBE_GAS + PROBE_GAS / 16) revert ProbeGas();
            bool ok;
            uint256 value;
            assembly ("memory-safe") {
                ok := staticcall(PROBE_GAS, target, add(data, 0x20), mload(data), 0x00, 0x20)
                ok := and(ok, gt(returndatasize(), 0x1f))
                value := mload(0x00)
            }
            if (value > type(uint128).max) value = type(uint128).max;
            if (ok) found.sum += value;
            else (value, found.whole) = (SILENT, false);
            found.values[i] = value;
        }
    }

    function answered(uint256[] memory values) internal pure returns (bool[] memory which) {
        which = new bool[](values.length);
        for (uint256 i = 0; i < values.length; ++i) which[i] = values[i] != SILENT;
    }
}
