// Makes a component of a core module, and writes it as text: node component.mjs MODULE WIT OUTPUT
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [module, wit, output] = process.argv.slice(2);
const found = createRequire(join(process.env.JCO_MODULES, "from.js")).resolve("@bytecodealliance/jco");
const { componentEmbed, componentNew, print } = await import(pathToFileURL(found));
const embedded = await componentEmbed({
    binary: new Uint8Array(await readFile(module)),
    witSource: await readFile(wit, "utf8"),
    world: "clawft-plugin",
    stringEncoding: "utf8",
});
await writeFile(output, await print(await componentNew(embedded)));
