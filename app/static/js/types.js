// Fields of typed data and calls, and the domain that every signature here has.
export const fields = (text) => text.split(",").map((f) => { const [name, type = "uint256"] = f.split(" "); return { name, type }; });
export const DOMAIN = fields("name string,version string,chainId,verifyingContract address");
