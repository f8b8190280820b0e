// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC4626} from "@openzeppelin/contracts/interfaces/IERC4626.sol";

/// @title The value probe of one ERC-4626 market whose asset is USDC.
/// @notice Values shares by the market's price and not by its cash: a squeeze of liquidity is no loss. Holds nothing.
contract ShareValue {
    IERC4626 public immutable MARKET;

    constructor(IERC4626 market) {
        MARKET = market;
    }

    function valueOf(address holder) external view returns (uint256) {
        return MARKET.convertToAssets(MARKET.balanceOf(holder));
    }
}
