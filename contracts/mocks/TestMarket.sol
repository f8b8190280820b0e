// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @notice An ERC-4626 vault over the test USDC. A gain is a plain transfer into it; `lose` is its opposite.
contract TestMarket is ERC4626 {
    using SafeERC20 for IERC20;

    constructor(IERC20 usdc) ERC20("Test Market Share", "tmUSDC") ERC4626(usdc) {}

    function lose(uint256 amount) external {
        IERC20(asset()).safeTransfer(address(0xdead), amount);
    }
}
