// The six functions of viem by which the browser hashes and decodes what it is asked to sign.
export { decodeFunctionData, encodeAbiParameters, getAddress, hashStruct, hashTypedData, keccak256 } from "viem/utils";
