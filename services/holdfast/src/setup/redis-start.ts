/**
 * The script that starts Redis. A kill in the middle of a transaction tears the end of the append-only file, and Redis cuts
 * off only the torn command of it (docs/internals/store.md). The check cuts off the whole transaction, in each part: only
 * the last one may be torn for Redis itself.
 */
export const redisStart = ({ directory, configFile }: { readonly directory: string; readonly configFile: string }) => `\
#!/bin/sh
for part in ${directory}/appendonlydir/*.incr.aof; do
  if [ -s "$part" ]; then yes | redis-check-aof --fix "$part"; fi
done
# The entrypoint of the official image leaves root.
exec $(command -v docker-entrypoint.sh) redis-server ${configFile}
`;
