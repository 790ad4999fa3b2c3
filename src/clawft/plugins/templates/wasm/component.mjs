// Makes a component of a module, and writes it as text: node component.mjs MODULE WIT OUTPUT
import { readFile, writeFile } from "node:fs/promises";
import { componentEmbed, componentNew, print } from "@bytecodealliance/jco";

const [module, wit, output] = process.argv.slice(2);
const embedded = await componentEmbed({
  binary: new Uint8Array(await readFile(module)),
  witSource: await readFile(wit, "utf8"),
  world: "clawft-plugin",
  stringEncoding: "utf8",
});
await writeFile(output, await print(await componentNew(embedded)));
