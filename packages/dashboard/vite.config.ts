import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const protocol = fileURLToPath(new URL('../protocol/src/index.ts', import.meta.url))

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '@countersign/protocol': protocol } },
  build: {
    target: 'es2022',
    sourcemap: false,
    // The page's policy is default-src 'self': nothing may be inlined as a data: address.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:4319' } },
})
