// Counts tokens of the text on stdin, by the tables that ship with the library.
import { readFileSync } from "node:fs";
import { Tiktoken } from "js-tiktoken/lite";
import o200k_base from "js-tiktoken/ranks/o200k_base";

console.log(new Tiktoken(o200k_base).encode(readFileSync(0, "utf8")).length);
