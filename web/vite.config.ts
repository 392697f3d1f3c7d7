import { defineConfig } from "vite";

// The built files are committed in pkg/api/page, and CI builds them again: nothing in them may
// depend on where or when they are built.
export default defineConfig({
  oxc: { jsx: { runtime: "automatic" } },
  build: {
    outDir: "../pkg/api/page",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" },
  },
});
