// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @notice A token with USDC's 6 decimals and its EIP-3009 (FiatTokenV2_2: signatures as v, r, s or as bytes, contract payers by
///         ERC-1271) for development chains. Anyone may mint, pause and list; a listed account is refused as a sender and as a
///         recipient, the way Circle's blacklist does it.
contract TestUSDC is ERC20 {
    error Blacklisted(address account);

    bytes32 private constant DOMAIN =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant RECEIVE = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant CANCEL = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    // One slot, which every transfer reads, as every transfer of USDC reads whether it is paused.
    bool public paused;
    uint248 private _blacklistLength;
    mapping(address => bool) public blacklisted;
    /// @notice Whether a nonce of an authorizer is used or canceled.
    mapping(address authorizer => mapping(bytes32 nonce => bool)) public authorizationState;

    constructor() ERC20("USDC", "USDC") {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function version() external pure returns (string memory) {
        return "2";
    }

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN, keccak256("USDC"), keccak256("2"), block.chainid, address(this)));
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    function setBlacklisted(address account, bool listed) external {
        if (blacklisted[account] == listed) return;
        blacklisted[account] = listed;
        _blacklistLength = listed ? _blacklistLength + 1 : _blacklistLength - 1;
    }

    function setPaused(bool now_) external {
        paused = now_;
    }

    // ------------------------------------------------------------------ EIP-3009

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes memory signature
    ) public {
        bytes memory told = abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce);
        _pay(from, to, value, validAfter, validBefore, nonce, keccak256(told), signature);
    }

    function transferWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s
    ) external {
        transferWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function receiveWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes memory signature
    ) public {
        require(to == msg.sender, "FiatTokenV2: caller must be the payee");
        bytes memory told = abi.encode(RECEIVE, from, to, value, validAfter, validBefore, nonce);
        _pay(from, to, value, validAfter, validBefore, nonce, keccak256(told), signature);
    }

    function receiveWithAuthorization(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s
    ) external {
        receiveWithAuthorization(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public {
        _use(authorizer, nonce, keccak256(abi.encode(CANCEL, authorizer, nonce)), signature);
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    function _pay(
        address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes32 told,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "FiatTokenV2: authorization is not yet valid");
        require(block.timestamp < validBefore, "FiatTokenV2: authorization is expired");
        _use(from, nonce, told, signature);
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    function _use(address authorizer, bytes32 nonce, bytes32 told, bytes memory signature) private {
        require(!authorizationState[authorizer][nonce], "FiatTokenV2: authorization is used or canceled");
        bytes32 hash = MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), told);
        bool signed = SignatureChecker.isValidSignatureNow(authorizer, hash, signature);
        require(signed, "FiatTokenV2: invalid signature");
        authorizationState[authorizer][nonce] = true;
    }

    function _update(address from, address to, uint256 value) internal override {
        require(!paused, "Pausable: paused");
        if (_blacklistLength != 0) {
            if (blacklisted[from]) revert Blacklisted(from);
            if (blacklisted[to]) revert Blacklisted(to);
        }
        super._update(from, to, value);
    }
}
