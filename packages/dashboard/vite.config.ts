import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

const protocol = fileURLToPath(new URL('../protocol/src/index.ts', import.meta.url))

/** A packed file beside each that gets smaller: the server sends what is there. */
const packed = (): Plugin => ({
  name: 'packed',
  writeBundle({ dir = '' }) {
    for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      const content = readFileSync(path)
      const small = gzipSync(content, { level: 9 })
      if (small.length < content.length) writeFileSync(`${path}.gz`, small)
    }
  },
})

export default defineConfig({
  plugins: [react(), packed()],
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
