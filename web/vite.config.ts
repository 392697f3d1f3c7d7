import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig } from "vite";

const out = "../pkg/api/page";

// The built files are committed in pkg/api/page, in gzip, as they are embedded and sent. CI builds them again and
// compares what they unpack to: nothing in them may depend on where or when they are built.
export default defineConfig({
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    outDir: out,
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
  },
  plugins: [{
    name: "gzip",
    apply: "build",
    closeBundle() {
      for (const f of readdirSync(out, { recursive: true, withFileTypes: true })) {
        const file = join(f.parentPath, f.name);
        if (!f.isFile() || file.endsWith(".gz")) continue;
        writeFileSync(file + ".gz", gzipSync(readFileSync(file), { level: 9 }));
        rmSync(file);
      }
    },
  }],
});
