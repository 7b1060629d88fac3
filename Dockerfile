# The gateway as an image: Node runs the TypeScript as it is, so there is nothing to compile.
#
#   docker build --tag agent-gateway .
#   docker run --read-only --tmpfs /tmp --volume agent-gateway:/data --stop-timeout 60 --publish 8080:8080 agent-gateway
#
# BuildKit is needed (the default since Docker 23), or podman build --format docker: its own format has no HEALTHCHECK. A
# registry other than npm's own, or one that needs a token, comes as a secret, which no layer keeps
# (--secret id=npmrc,src=$HOME/.npmrc), and so do the authorities that its certificate needs
# (--secret id=ca,src=/etc/ssl/certs/ca-certificates.crt).

# The release that package.json names as `node`. A mirror of it is named here: --build-arg NODE_IMAGE=…
ARG NODE_IMAGE=node:24.21.0-slim

# A first process that hands signals on and reaps what tools leave behind. Linked statically: it brings no library.
FROM ${NODE_IMAGE} AS init
RUN apt-get update \
  && apt-get install --yes --no-install-recommends tini \
  && rm -rf /var/lib/apt/lists/*

# What the lock file says and nothing else. No install script runs: the one native module ships its binaries. A package of
# development makes few files of those that a start loads, and goes with the others of its kind.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca \
    --mount=type=cache,target=/root/.npm \
  if [ -f /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi; \
  npm ci --ignore-scripts --no-audit --no-fund
COPY foundation/code/bundled-packages.ts foundation/code/
COPY scripts/bundle-packages.ts scripts/
# Types and source maps are a third of what is left, and no process reads them.
RUN node scripts/bundle-packages.ts && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && find node_modules '(' -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' ')' -delete

FROM ${NODE_IMAGE}
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="agent-gateway" \
      org.opencontainers.image.description="A multi-tenant agent gateway: a small kernel, everything else a plugin" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# gateway.yaml lies in the volume because the administration writes it, and the root is read-only.
# The young generation grows while modules are loaded and is never given back; a NODE_OPTIONS of one's own replaces this.
ENV NODE_ENV=production \
    NODE_OPTIONS=--max-semi-space-size=16 \
    SVC_DATA_DIR=/data \
    SVC_CONFIG=/data/gateway.yaml

COPY --from=init /usr/bin/tini-static /usr/local/bin/tini
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
# .dockerignore lists what this takes.
COPY . ./
# A number, not a name: Kubernetes can only tell from a number that it is not root.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data node_modules/.cache/gateway \
  && ln --symbolic /app/cli/saas-api /usr/local/bin/saas-api
USER 10001:10001
# What a start compiles, kept beside the code: the root is read-only, and a new container has had no earlier start. Node reads
# only what its own user has written, so another user's containers compile; V8 only what was made with the same flags.
RUN SVC_DATA_DIR=/tmp/build SVC_CONFIG=/tmp/build/gateway.yaml \
    node --expose-gc --disable-sigusr1 kernel/main.js --migrate-only \
  && rm -rf /tmp/build
VOLUME /data

# HTTP API, runtime API, gRPC.
EXPOSE 8080 8888 3000 50051
STOPSIGNAL SIGTERM

# Whether the process answers, not whether its database does: an engine restarts what is unhealthy, and that mends no
# database. Who sends traffic asks /health/ready.
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SAAS_API_PORT || 8080}/health/live`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["/usr/local/bin/tini", "--"]
# With --expose-gc the gateway gives back what large bodies have left behind, also when nothing else is asked of it. A
# signal opens no debugger.
CMD ["node", "--expose-gc", "--disable-sigusr1", "kernel/main.js"]
