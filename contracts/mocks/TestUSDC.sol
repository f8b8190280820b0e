// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @notice A token with USDC's 6 decimals for development chains. Anyone may mint; a listed account is refused
///         as a sender and as a recipient, the way Circle's blacklist does it.
contract TestUSDC is ERC20 {
    error Blacklisted(address account);

    mapping(address => bool) public blacklisted;

    constructor() ERC20("Test USD Coin", "USDC") {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function setBlacklisted(address account, bool listed) external {
        blacklisted[account] = listed;
    }

    function _update(address from, address to, uint256 value) internal override {
        if (blacklisted[from]) revert Blacklisted(from);
        if (blacklisted[to]) revert Blacklisted(to);
        super._update(from, to, value);
    }
}
