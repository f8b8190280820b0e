// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @notice Functions that never go on a mandate's list: token moves, approvals, rights given to others, further calls of the
///         caller's choice. A second line of defence for an owner who was talked into bad terms; such a list is never whole,
///         and what a market is worth is settled by its review, not here.
library RefusedCalls {
    function has(bytes4 s) internal pure returns (bool) {
        return // Token moves
            s == 0xa9059cbb // transfer(address,uint256)
            || s == 0x23b872dd // transferFrom(address,address,uint256)
            || s == 0x42966c68 // burn(uint256)
            || s == 0x9dc29fac // burn(address,uint256)
            || s == 0x79cc6790 // burnFrom(address,uint256)
            // Allowances
            || s == 0x095ea7b3 // approve(address,uint256)
            || s == 0x39509351 // increaseAllowance(address,uint256)
            || s == 0xa457c2d7 // decreaseAllowance(address,uint256)
            || s == 0xd73dd623 // increaseApproval(address,uint256)
            || s == 0x66188463 // decreaseApproval(address,uint256)
            // Permits: EIP-2612 with v, r, s and with bytes, DAI
            || s == 0xd505accf // permit(address,address,uint256,uint256,uint8,bytes32,bytes32)
            || s == 0x9fd5a6cf // permit(address,address,uint256,uint256,bytes)
            || s == 0x8fcbaf0c // permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)
            // EIP-3009, with v, r, s and with bytes
            || s == 0xe3ee160e // transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)
            || s == 0xcf092995 // transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)
            || s == 0xef55bec6 // receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)
            || s == 0x88b7ab63 // receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)
            || s == 0x5a049a70 // cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)
            || s == 0xb7b72899 // cancelAuthorization(address,bytes32,bytes)
            // ERC-677, ERC-1363
            || s == 0x1296ee62 // transferAndCall(address,uint256)
            || s == 0x4000aea0 // transferAndCall(address,uint256,bytes)
            || s == 0xd8fbe994 // transferFromAndCall(address,address,uint256)
            || s == 0xc1d34b89 // transferFromAndCall(address,address,uint256,bytes)
            || s == 0x3177029f // approveAndCall(address,uint256)
            || s == 0xcae9ca51 // approveAndCall(address,uint256,bytes)
            // ERC-777
            || s == 0x9bd9bbc6 // send(address,uint256,bytes)
            || s == 0x62ad1b83 // operatorSend(address,address,uint256,bytes,bytes)
            || s == 0x959b8c3f // authorizeOperator(address)
            || s == 0xfe9d9303 // burn(uint256,bytes)
            || s == 0xfc673c4f // operatorBurn(address,uint256,bytes,bytes)
            // ERC-721, ERC-1155
            || s == 0x42842e0e // safeTransferFrom(address,address,uint256)
            || s == 0xb88d4fde // safeTransferFrom(address,address,uint256,bytes)
            || s == 0xa22cb465 // setApprovalForAll(address,bool)
            || s == 0xf242432a // safeTransferFrom(address,address,uint256,uint256,bytes)
            || s == 0x2eb2c2d6 // safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)
            // ERC-6909, ERC-7540
            || s == 0x095bcdb6 // transfer(address,uint256,uint256)
            || s == 0xfe99049a // transferFrom(address,address,uint256,uint256)
            || s == 0x426a8493 // approve(address,uint256,uint256)
            || s == 0x558a7297 // setOperator(address,bool)
            // Permit2
            || s == 0x87517c45 // approve(address,address,uint160,uint48)
            || s == 0x2b67b570 // permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)
            || s == 0x2a2d80d1 // permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)
            || s == 0x36c78516 // transferFrom(address,address,uint160,address)
            || s == 0x0d58b1db // transferFrom((address,address,uint160,address)[])
            || s == 0x30f28b7a // permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)
            || s == 0xedd9444b // permitTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes)
            || s == 0x137c29fe // permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)
            || s == 0xfe8ec1a7 // permitWitnessTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes32,string,bytes)
            // Rights over positions and debt: Aave, Compound III, Morpho Blue, Balancer, Maker
            || s == 0xc04a8a10 // approveDelegation(address,uint256)
            || s == 0x0b52d558 // delegationWithSig(address,address,uint256,uint256,uint8,bytes32,bytes32)
            || s == 0x110496e5 // allow(address,bool)
            || s == 0xbb24d994 // allowBySig(address,address,bool,uint256,uint256,uint8,bytes32,bytes32)
            || s == 0xeecea000 // setAuthorization(address,bool)
            || s == 0x8069218f // setAuthorizationWithSig((address,address,bool,uint256,uint256),(uint8,bytes32,bytes32))
            || s == 0xfa6e671d // setRelayerApproval(address,address,bool)
            || s == 0xa3b22fc4 // hope(address)
            // Votes and ownership
            || s == 0x5c19a95c // delegate(address)
            || s == 0xf2fde38b // transferOwnership(address)
            || s == 0x13af4035 // setOwner(address)
            // Multicall
            || s == 0xac9650d8 // multicall(bytes[])
            || s == 0x5ae401dc // multicall(uint256,bytes[])
            || s == 0x1f0464d1 // multicall(bytes32,bytes[])
            || s == 0xd2423b51 // batch(bytes[],bool)
            // Multicall3
            || s == 0x252dba42 // aggregate((address,bytes)[])
            || s == 0xbce38bd7 // tryAggregate(bool,(address,bytes)[])
            || s == 0xc3077fa9 // blockAndAggregate((address,bytes)[])
            || s == 0x399542e9 // tryBlockAndAggregate(bool,(address,bytes)[])
            || s == 0x82ad56cb // aggregate3((address,bool,bytes)[])
            || s == 0x174dea71 // aggregate3Value((address,bool,uint256,bytes)[])
            // Ethereum Vault Connector
            || s == 0x1f8b5215 // call(address,address,uint256,bytes)
            || s == 0xc16ae7a4 // batch((address,address,uint256,bytes)[])
            || s == 0x9f5c462a // setAccountOperator(address,address,bool)
            || s == 0xc14c11bf // setOperator(bytes19,address,uint256)
            || s == 0xb9b70ff5 // controlCollateral(address,address,uint256,bytes)
            || s == 0x6a641faf // permit(address,address,uint256,uint256,uint256,uint256,bytes)
            // Safe and its modules
            || s == 0x6a761202 // execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)
            || s == 0x468721a7 // execTransactionFromModule(address,uint256,bytes,uint8)
            || s == 0x5229073f // execTransactionFromModuleReturnData(address,uint256,bytes,uint8)
            || s == 0x610b5925 // enableModule(address)
            || s == 0x8d80ff0a // multiSend(bytes)
            // Accounts: ERC-4337, ERC-6551, ERC-7579, ERC-7821, DSProxy
            || s == 0xb61d27f6 // execute(address,uint256,bytes)
            || s == 0x18dfb3c7 // executeBatch(address[],bytes[])
            || s == 0x47e1da2a // executeBatch(address[],uint256[],bytes[])
            || s == 0x34fcd5be // executeBatch((address,uint256,bytes)[])
            || s == 0x51945447 // execute(address,uint256,bytes,uint8)
            || s == 0xe9ae5c53 // execute(bytes32,bytes)
            || s == 0xd691c964 // executeFromExecutor(bytes32,bytes)
            || s == 0x1cff79cd // execute(address,bytes)
            || s == 0xbe6002c2 // exec(address,bytes)
            // Routers that run a program, flash loans
            || s == 0x3593564c // execute(bytes,bytes[],uint256)
            || s == 0x24856bc3 // execute(bytes,bytes[])
            || s == 0xe0232b42 // flashLoan(address,uint256,bytes)
            || s == 0x5cffe9de // flashLoan(address,address,uint256,bytes)
            || s == 0x5c38449e // flashLoan(address,address[],uint256[],bytes)
            || s == 0x42b0b77c; // flashLoanSimple(address,address,uint256,bytes,uint16)
    }
}
