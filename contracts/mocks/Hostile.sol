// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @notice A listed target that misbehaves in every way a target can.
contract HostileTarget {
    IERC20 public immutable USDC;
    address public reenterInto;
    bytes public reenterWith;
    bool public lastReentryOk;
    bytes public lastReentryAnswer;
    uint256 public probeValue;
    ProbeMode public probeMode;

    enum ProbeMode { Answers, Reverts, BurnsGas, AnswersLong, AnswersShort }

    constructor(IERC20 usdc) {
        USDC = usdc;
    }

    function setReentry(address target, bytes calldata data) external {
        (reenterInto, reenterWith) = (target, data);
    }

    function setProbe(uint256 value, ProbeMode mode) external {
        (probeValue, probeMode) = (value, mode);
    }

    /// @notice Takes up to `amount` from the caller and keeps it.
    function take(uint256 amount) external {
        if (amount != 0) USDC.transferFrom(msg.sender, address(this), amount);
    }

    /// @notice Takes from somebody who approved earlier: finds left-over approvals.
    function takeFrom(address from, uint256 amount) external {
        USDC.transferFrom(from, address(this), amount);
    }

    /// @notice Gives USDC back to the caller.
    function give(uint256 amount) external {
        USDC.transfer(msg.sender, amount);
    }

    function reenter(uint256 amount) external {
        if (amount != 0) USDC.transferFrom(msg.sender, address(this), amount);
        (lastReentryOk, lastReentryAnswer) = reenterInto.call(reenterWith);
    }

    function returnFalse() external pure returns (bool) {
        return false;
    }

    function burnGas() external view {
        uint256 i;
        while (gasleft() > 5_000) i++;
    }

    function bomb() external pure {
        assembly {
            return(0, 1000000)
        }
    }

    /// @notice Imitates a refusal of the vault.
    function forge() external pure {
        assembly {
            mstore(0, 0xc8c92ec800000000000000000000000000000000000000000000000000000000)
            revert(0, 0x44)
        }
    }

    /// @notice Gives up `given` of the measured value and pays `paid`: an exit at any price.
    function exit(uint256 given, uint256 paid) external {
        probeValue -= given;
        if (paid != 0) USDC.transfer(msg.sender, paid);
    }

    function worthOf(address) external view returns (uint256) {
        if (probeMode == ProbeMode.Reverts) revert("no");
        if (probeMode == ProbeMode.BurnsGas) {
            uint256 i;
            while (true) i++;
        }
        uint256 value = probeValue;
        uint256 size = probeMode == ProbeMode.AnswersLong ? 300_000 : probeMode == ProbeMode.AnswersShort ? 31 : 32;
        assembly {
            mstore(0, value)
            return(0, size)
        }
    }

    /// @notice Has the selector of transfer(address,uint256), under another name.
    function many_msg_babbage(bytes1) external {}

    receive() external payable {}
}

/// @notice Keeps 1% of every transfer.
contract FeeToken is ERC20 {
    constructor() ERC20("Fee", "FEE") {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from == address(0) || to == address(0)) return super._update(from, to, value);
        uint256 fee = value / 100;
        super._update(from, address(0xfee), fee);
        super._update(from, to, value - fee);
    }
}

/// @notice A listed market with an honest value view, whose caller chooses the price: what is lost goes to `stolen`.
contract SlipMarket {
    IERC20 public immutable USDC;
    mapping(address holder => uint256) public worthOf;
    uint256 public stolen;

    constructor(IERC20 usdc) {
        USDC = usdc;
    }

    function buy(uint256 amount, uint256 loss) external {
        USDC.transferFrom(msg.sender, address(this), amount);
        worthOf[msg.sender] += amount - loss;
        stolen += loss;
    }

    function sell(uint256 amount, uint256 loss) external {
        worthOf[msg.sender] -= amount;
        stolen += loss;
        USDC.transfer(msg.sender, amount - loss);
    }

    /// @notice Gives part of the stolen money back, as a sale that brought more than it was worth would.
    function refund(uint256 amount) external {
        stolen -= amount;
        USDC.transfer(msg.sender, amount);
    }
}

/// @notice Charges the sender 1% on top of every transfer between accounts.
contract SurchargeToken is ERC20 {
    constructor() ERC20("Surcharge", "SUR") {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _update(address from, address to, uint256 value) internal override {
        if (from != address(0) && to != address(0)) super._update(from, address(0xfee), value / 100);
        super._update(from, to, value);
    }
}

/// @notice Lets anybody move anybody's money, whatever was approved.
contract BackdoorToken is ERC20 {
    constructor() ERC20("Backdoor", "BACK") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function _spendAllowance(address, address, uint256) internal override {}
}

/// @notice Answers false instead of reverting, and moves nothing.
contract FalseToken is ERC20 {
    constructor() ERC20("False", "FLS") {}

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function transferFrom(address, address, uint256) public pure override returns (bool) {
        return false;
    }
}

/// @notice A smart wallet with one key (ERC-1271) that can call anything for its owner.
contract TestWallet {
    address public immutable OWNER;

    constructor(address owner) {
        OWNER = owner;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        address who = ecrecover(hash, uint8(signature[64]), r, s);
        return who == OWNER && who != address(0) ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
    }

    function run(address target, bytes calldata data) external returns (bytes memory) {
        require(msg.sender == OWNER, "not the owner");
        (bool ok, bytes memory out) = target.call(data);
        require(ok, "call failed");
        return out;
    }
}

/// @notice Creates a TestWallet at an address known beforehand (ERC-6492).
contract TestWalletFactory {
    function create(address owner, bytes32 salt) external returns (address) {
        return address(new TestWallet{salt: salt}(owner));
    }

    function predict(address owner, bytes32 salt) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(TestWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), salt, code)))));
    }
}
