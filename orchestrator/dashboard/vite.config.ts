import { defineConfig } from "vite";

// Everything is a file of ours under /assets: the page's policy allows nothing inline and nothing from elsewhere.
export default defineConfig({
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      // Libraries mark code for servers with directives that mean nothing in a bundle.
      onwarn: (warning, tell) => warning.code === "MODULE_LEVEL_DIRECTIVE" || tell(warning),
    },
  },
  server: { proxy: { "/api": process.env.PODWRIGHT_URL ?? "http://127.0.0.1:8000" } },
});
