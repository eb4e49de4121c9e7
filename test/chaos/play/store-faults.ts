import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createSystemClock } from '@holdfast/platform';
import { docker, pidOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { kill } from './containers.ts';
import type { Begin } from './users.ts';
import { leaderOfLog } from './zone-faults.ts';

const clock = createSystemClock();
const REWRITES_EVERY_MS = 500;
/** The first bytes of an entry of Redis' file. */
const HALF_AN_ENTRY = '*3\r\n$3\r\nSET\r\n$9\r\nhalf';

/** What happens to the store itself, beside its loss. */
export const STORE_FAULTS: Readonly<Record<'store-moved' | 'store-rewrites' | 'store-torn' | 'store-full', Begin>> = {
  // Lame duck: it hands over what it leads, then ends, and its container starts it again.
  'store-moved': async (cluster) => {
    // Not by the engine, which would take the server for one that somebody has stopped.
    process.kill(Number(await pidOf(cluster.containerOf(await leaderOfLog(cluster)))), 'SIGUSR2');
  },
  'store-rewrites': async (cluster) => {
    const said = await redis(cluster, 'BGREWRITEAOF');
    if (!said.startsWith('Background')) throw new Error(`the file is not rewritten: ${said}`);
    let isOver = false;
    const rewriting = (async (): Promise<void> => {
      for (; !isOver; await clock.sleep(REWRITES_EVERY_MS)) await redis(cluster, 'BGREWRITEAOF').catch(() => {});
    })();
    return () => {
      isOver = true;
      return rewriting;
    };
  },
  'store-torn': async (cluster) => {
    const container = cluster.containerOf('redis');
    const end = await kill(container);
    const mount = '{{range .Mounts}}{{if eq .Destination "/data"}}{{.Source}}{{end}}{{end}}';
    const folder = path.join(await docker('inspect', '--format', mount, container), 'appendonlydir');
    const newest = readdirSync(folder)
      .filter((file) => file.endsWith('.incr.aof'))
      .toSorted(bySequence)
      .at(-1);
    if (newest !== undefined) tear(path.join(folder, newest));
    return end;
  },
  'store-full': async (cluster) => {
    await redis(cluster, 'CONFIG', 'SET', 'maxmemory', '1');
    return () => redis(cluster, 'CONFIG', 'SET', 'maxmemory', '0');
  },
};

/** A file that Redis has not read since it was torn stays as it is: half an entry in its middle comes of no loss of power. */
export function tear(file: string): void {
  if (!readFileSync(file).subarray(-HALF_AN_ENTRY.length).equals(Buffer.from(HALF_AN_ENTRY)))
    appendFileSync(file, HALF_AN_ENTRY);
}

const sequenceOf = (file: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(file)?.[1]);
const bySequence = (a: string, b: string): number => sequenceOf(a) - sequenceOf(b);

/** As the operator, in the container of the store. */
async function redis(cluster: ComposeCluster, ...command: readonly string[]): Promise<string> {
  const secrets = JSON.parse(readFileSync(path.join(cluster.stateFolder, 'secrets', 'passwords.json'), 'utf8'));
  const login = ['--user', 'default', '--pass', String(secrets['redis-operator']), '--no-auth-warning'];
  const tls = ['--tls', '--cacert', '/etc/redis/ca.crt'];
  const said = docker('exec', cluster.containerOf('redis'), 'redis-cli', ...tls, ...login, ...command);
  return said.catch(() => {
    // Its own words have the password.
    throw new Error(`the store cannot be told ${command.join(' ')}`);
  });
}
