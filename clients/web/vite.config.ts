import { defineConfig } from "vitest/config";

export default defineConfig({
  build: {
    target: ["chrome123", "firefox120", "safari17.5"], // the first with light-dark()
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the page's policy allows no data: addresses
  },
  server: { proxy: { "/api": "http://127.0.0.1:8787" } },
  test: { include: ["test/**/*.test.ts"] },
});
