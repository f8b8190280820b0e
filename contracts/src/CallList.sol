// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {AllowedCall} from "./MandateTypes.sol";

/// @notice Whether calldata is one of the calls that a mandate lists.
library CallList {
    /// @dev An account without code answers nothing and would look like success: it is never a target.
    function allows(AllowedCall[] memory calls, address target, bytes calldata data) internal view returns (bool) {
        if (data.length < 4 || target.code.length == 0) return false;
        bytes4 selector = bytes4(data);
        for (uint256 i = 0; i < calls.length; ++i) {
            AllowedCall memory a = calls[i];
            if (a.target == target && a.selector == selector && _pinned(a.selfArgs, data[4:])) return true;
        }
        return false;
    }

    /// @dev Whole words are compared: an address with dirty upper bits is not the vault's.
    function _pinned(uint32 selfArgs, bytes calldata args) private view returns (bool) {
        for (uint256 pos = 0; selfArgs != 0; pos += 32) {
            if (selfArgs & 1 != 0) {
                if (args.length < pos + 32 || uint256(bytes32(args[pos:pos + 32])) != uint160(address(this))) return false;
            }
            selfArgs >>= 1;
        }
        return true;
    }
}
