# The gateway with plugins from npm. Beside this file: a package.json that names them, its lock file, and gateway.yaml with an entry for each.
#
#   docker build --file plugins.Dockerfile --tag my-gateway .
#
# A registry of one's own, its token and its authorities come as secrets, as for the Dockerfile of the gateway.
ARG GATEWAY_IMAGE=agent-gateway
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS plugins
WORKDIR /plugins
COPY package.json package-lock.json ./
# The gateway that runs stands in for the package agent-gateway, which therefore is not installed.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    --mount=type=secret,id=ca \
  if [ -f /run/secrets/ca ]; then export NODE_EXTRA_CA_CERTS=/run/secrets/ca; fi; \
  npm ci --omit=dev --legacy-peer-deps --no-audit --no-fund

FROM ${GATEWAY_IMAGE}
# Packages are looked for in the folder of gateway.yaml and in all above it: /data may be a volume, / is the image.
COPY --from=plugins /plugins/node_modules /node_modules
COPY --chown=10001:10001 gateway.yaml /data/gateway.yaml
# In production only what is listed here may run.
ENV SVC_PLUGIN_PACKAGES=@acme/*
