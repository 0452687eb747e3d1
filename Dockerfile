# Builds the service from the sources. Written with care and not run: no container engine was at hand.
FROM node:22-bookworm-slim AS build
WORKDIR /app
COPY . .
RUN npm ci --no-audit --no-fund && npm run build && npm prune --omit=dev

FROM node:22-bookworm-slim
WORKDIR /app
# Mail without SMTP is written to the data folder, and the database too where DATABASE_URL is not set.
ENV NODE_ENV=production COUNTERSIGN_HOST=0.0.0.0 COUNTERSIGN_DATA_FOLDER=/data
RUN mkdir /data && chown node:node /data
COPY --from=build --chown=node:node /app/node_modules ./node_modules
COPY --from=build --chown=node:node /app/packages ./packages
COPY --chown=node:node package.json LICENSE ./
USER node
VOLUME /data
EXPOSE 4319
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD node -e "fetch('http://127.0.0.1:' + (process.env.COUNTERSIGN_PORT || 4319) + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
CMD ["node", "packages/cli/dist/main.js", "start"]
