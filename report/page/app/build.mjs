// usage: node build.mjs FOLDER: bundles the app with the components in FOLDER/node_modules into FOLDER/page.html, compressed.
import { createRequire } from "node:module";
import { readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";

const folder = process.argv[2];
const app = dirname(fileURLToPath(import.meta.url));
const modules = join(folder, "node_modules");
const esbuild = createRequire(join(modules, "x.js"))("esbuild");

const packages = Object.keys(JSON.parse(readFileSync(join(app, "package.json"), "utf8")).dependencies);
const licences = packages.map((name) => {
  const at = join(modules, name);
  const { version, license } = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
  const file = readdirSync(at).find((each) => /^licen[cs]e/i.test(each));
  return { name, version, licence: license, text: file ? readFileSync(join(at, file), "utf8") : "" };
});

const bundle = async (entry, loader) => {
  const result = await esbuild.build({
    entryPoints: [join(app, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    legalComments: "none",
    nodePaths: [modules],
    define: { LICENCES: JSON.stringify(licences) },
    loader,
  });
  return result.outputFiles[0].text;
};

const script = await bundle("main.js", {});
const style = await bundle("style.css", {});
const packed = deflateSync(JSON.stringify({ script, style }), { level: 9 }).toString("base64");
const page = readFileSync(join(app, "page.html"), "utf8").replace("LYNXPP_APP", () => packed);
writeFileSync(join(folder, "page.html.new"), page);
renameSync(join(folder, "page.html.new"), join(folder, "page.html"));
