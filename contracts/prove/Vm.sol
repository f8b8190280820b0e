// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice The cheat codes that the proofs use, as forge and halmos both have them.
interface Vm {
    function prank(address sender) external;
    function warp(uint256 timestamp) external;
    function roll(uint256 number) external;
    function store(address where, bytes32 slot, bytes32 value) external;
    function load(address where, bytes32 slot) external view returns (bytes32);
    function snapshotState() external returns (uint256 id);
    function revertToState(uint256 id) external returns (bool);
    function chainId(uint256 id) external;
    function etch(address where, bytes calldata code) external;
    function assume(bool condition) external;
    function sign(uint256 key, bytes32 digest) external returns (uint8 v, bytes32 r, bytes32 s);
    function addr(uint256 key) external returns (address);
}

Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
