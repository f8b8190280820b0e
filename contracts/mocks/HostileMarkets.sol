// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC4626} from "@openzeppelin/contracts/token/ERC20/extensions/ERC4626.sol";

/// @notice What a market review turns away: a view bound by the market's cash beside an exit whose caller names the price,
///         and flash loans of that cash. Who presses the cash out of it presses the view down.
contract PressedMarket {
    IERC20 public immutable USDC;
    mapping(address holder => uint256) public worthOf;
    uint256 public stolen;

    constructor(IERC20 usdc) {
        USDC = usdc;
    }

    function supply(uint256 amount) external {
        USDC.transferFrom(msg.sender, address(this), amount);
        worthOf[msg.sender] += amount;
    }

    /// @notice Gives `amount` up at `bps` of its worth; the rest is the agent's.
    function exit(uint256 amount, uint256 bps) external {
        worthOf[msg.sender] -= amount;
        uint256 paid = amount * bps / 10_000;
        stolen += amount - paid;
        if (paid != 0) USDC.transfer(msg.sender, paid);
    }

    /// @notice A loss that is nobody's doing.
    function lose(address holder, uint256 amount) external {
        worthOf[holder] -= amount;
        USDC.transfer(address(0xdead), amount);
    }

    /// @notice A gain; whoever tells of it brings the money too.
    function gain(address holder, uint256 amount) external {
        worthOf[holder] += amount;
    }

    function maxWithdraw(address holder) external view returns (uint256) {
        uint256 liquid = USDC.balanceOf(address(this));
        return worthOf[holder] < liquid ? worthOf[holder] : liquid;
    }

    function flash(uint256 amount, address[] calldata to, bytes[] calldata data) external {
        USDC.transfer(msg.sender, amount);
        Presser(msg.sender).onFlash(to, data);
        USDC.transferFrom(msg.sender, address(this), amount);
    }
}

/// @notice An agent that is a contract: it does many things in one transaction, with or without a flash loan around them.
contract Presser {
    /// @notice Borrows `amount` of the market's cash, does the calls, and pays back.
    function press(PressedMarket market, uint256 amount, address[] calldata to, bytes[] calldata data) external {
        market.USDC().approve(address(market), amount);
        market.flash(amount, to, data);
    }

    function onFlash(address[] calldata to, bytes[] calldata data) external {
        run(to, data);
    }

    /// @notice Does the calls one after another; the first refusal ends it.
    function run(address[] calldata to, bytes[] calldata data) public {
        for (uint256 i = 0; i < to.length; ++i) {
            (bool ok, bytes memory answer) = to[i].call(data[i]);
            if (!ok) {
                assembly {
                    revert(add(answer, 0x20), mload(answer))
                }
            }
        }
    }
}

/// @notice An ERC-4626 lender: what is lent out belongs to the shares still, but nobody can take it out now.
contract LendingMarket is ERC4626 {
    uint256 public lent;

    constructor(IERC20 usdc) ERC20("Lending Share", "lUSDC") ERC4626(usdc) {}

    function totalAssets() public view override returns (uint256) {
        return super.totalAssets() + lent;
    }

    function maxWithdraw(address holder) public view override returns (uint256) {
        uint256 liquid = super.totalAssets();
        uint256 worth = super.maxWithdraw(holder);
        return worth < liquid ? worth : liquid;
    }

    /// @notice Anybody with collateral may; the collateral is left out here.
    function borrow(uint256 amount) external {
        lent += amount;
        IERC20(asset()).transfer(msg.sender, amount);
    }

    /// @notice What was lent and does not come back.
    function writeOff(uint256 amount) external {
        lent -= amount;
    }
}

/// @notice A pool in the form of Aave's: what is supplied grows by `gain`, and the token's balance tells of it.
contract AavePool {
    AToken public immutable token;

    constructor(IERC20 usdc) {
        token = new AToken(usdc);
    }

    function supply(address asset, uint256 amount, address onBehalfOf, uint16) external {
        IERC20(asset).transferFrom(msg.sender, address(token), amount);
        token.add(onBehalfOf, amount);
    }

    function withdraw(address, uint256 amount, address to) external returns (uint256) {
        token.take(msg.sender, amount, to);
        return amount;
    }
}

contract AToken {
    IERC20 private immutable usdc;
    address private immutable pool = msg.sender;
    mapping(address => uint256) public balanceOf;

    constructor(IERC20 usdc_) {
        usdc = usdc_;
    }

    function add(address holder, uint256 amount) external {
        require(msg.sender == pool);
        balanceOf[holder] += amount;
    }

    function take(address holder, uint256 amount, address to) external {
        require(msg.sender == pool);
        balanceOf[holder] -= amount;
        usdc.transfer(to, amount);
    }
}
