// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @notice An ERC-4626 market that is hard to leave: it lets go only so many shares, names more shares than there are, or
///         pays less than it answers.
contract HardExit is ERC4626 {
    uint256 public free = type(uint256).max;
    uint256 public boast;
    uint256 public keeps;

    constructor(IERC20 usdc) ERC20("Hard Exit Share", "heUSDC") ERC4626(usdc) {}

    function set(uint256 free_, uint256 boast_, uint256 keeps_) external {
        (free, boast, keeps) = (free_, boast_, keeps_);
    }

    /// @notice A loss that is nobody's doing.
    function lose(uint256 amount) external {
        IERC20(asset()).transfer(address(0xdead), amount);
    }

    function balanceOf(address holder) public view override(ERC20, IERC20) returns (uint256) {
        return super.balanceOf(holder) + boast;
    }

    function maxRedeem(address holder) public view override returns (uint256) {
        uint256 owned = super.balanceOf(holder);
        return owned < free ? owned : free;
    }

    function maxWithdraw(address holder) public view override returns (uint256) {
        return convertToAssets(maxRedeem(holder));
    }

    function redeem(uint256 shares, address receiver, address owner) public override returns (uint256) {
        require(shares <= maxRedeem(owner), "locked");
        uint256 assets = previewRedeem(shares);
        _burn(owner, shares);
        IERC20(asset()).transfer(receiver, assets - keeps);
        return assets;
    }
}

/// @notice A pool of Aave's form: scaled balances under an index that grows, and `type(uint256).max` for everything.
contract IndexPool {
    IndexToken public immutable token;

    constructor(IERC20 usdc) {
        token = new IndexToken(usdc);
    }

    function supply(address asset, uint256 amount, address onBehalfOf, uint16) external {
        IERC20(asset).transferFrom(msg.sender, address(token), amount);
        token.add(onBehalfOf, amount);
    }

    function withdraw(address, uint256 amount, address to) external returns (uint256) {
        uint256 held = token.balanceOf(msg.sender);
        if (amount == type(uint256).max) amount = held;
        require(amount <= held, "more than is held");
        token.take(msg.sender, amount, to);
        return amount;
    }

    /// @notice Interest of `bps` for everybody; who lets it grow brings the money too.
    function grow(uint256 bps) external {
        token.grow(bps);
    }
}

contract IndexToken {
    uint256 private constant RAY = 1e27;
    IERC20 private immutable usdc;
    address private immutable pool = msg.sender;
    uint256 private index = RAY;
    mapping(address => uint256) private scaled;

    constructor(IERC20 usdc_) {
        usdc = usdc_;
    }

    function balanceOf(address holder) public view returns (uint256) {
        return scaled[holder] * index / RAY;
    }

    function grow(uint256 bps) external {
        require(msg.sender == pool);
        index += index * bps / 10_000;
    }

    function add(address holder, uint256 amount) external {
        require(msg.sender == pool);
        scaled[holder] += amount * RAY / index;
    }

    function take(address holder, uint256 amount, address to) external {
        require(msg.sender == pool);
        uint256 units = (amount * RAY + index - 1) / index;
        scaled[holder] -= units < scaled[holder] ? units : scaled[holder];
        usdc.transfer(to, amount);
    }

    /// @notice Lends cash of the pool out, so that less can be taken.
    function lend(address to, uint256 amount) external {
        usdc.transfer(to, amount);
    }
}
