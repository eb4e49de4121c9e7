# One image for every Holdfast service; docker-compose.yml says which one a container runs. Programs start from their joined modules
# (scripts/sources/bundle.mjs). The TypeScript sources stay outside node_modules, where Node strips types.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim
FROM ${NODE_IMAGE}
ENV NODE_ENV=production NODE_OPTIONS=--disable-warning=ExperimentalWarning
# Nobody here is `node`: pods of a process node may not run as users of the machine, and 1000 is what many of them name.
RUN if getent passwd node; then userdel --remove node; fi
# A named volume takes over the owner: the storage server and the API servers run as the user of the components.
RUN mkdir /data && chown 1000:1000 /data
# What a node needs to give pods addresses of their own (docker-compose.network.yml). A stand-in has them.
RUN if ! { command -v ip && command -v nft; } >/dev/null; then \
      apt-get update && apt-get install --yes --no-install-recommends iproute2 nftables && rm -rf /var/lib/apt/lists/*; fi
WORKDIR /opt/holdfast
COPY . .
# A context that was prepared without a registry (scripts/images) brings node_modules along; any other installs them here.
# npm refuses a pnpm with another hash than the one in scripts/toolchain.json. The files of the console and the joined modules are
# built with packages that the image does not keep.
RUN test -d node_modules/.pnpm || { node scripts/lock-pnpm.mjs /tmp/pnpm \
      && (cd /tmp/pnpm && npm ci --no-audit --no-fund --loglevel=error) \
      && export CI=true \
      && NODE_ENV=development /tmp/pnpm/node_modules/.bin/pnpm install --frozen-lockfile --filter '{services/**}...' \
      && node services/console/src/server/bundle-main.ts services/console/built \
      && node scripts/sources/bundle.mjs --image \
      && /tmp/pnpm/node_modules/.bin/pnpm install --prod --frozen-lockfile --filter '{services/**}...' \
      && rm -rf /tmp/pnpm; }
