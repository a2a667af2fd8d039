import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Addresses of assets are relative: the service may stand under any path of a proxy.
export default defineConfig({
  base: "./",
  plugins: [react()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../src/flowli_api/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1200,
  },
  server: { proxy: { "/v1": "http://127.0.0.1:8000" } },
});
