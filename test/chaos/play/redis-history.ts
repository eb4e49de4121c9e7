import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { WriteOperation } from '@holdfast/store';
import { Redis } from 'ioredis';
import type { Commit } from '../../sim/committed.ts';
import { addressesOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import type { Reading } from './store-log.ts';

/** The stream of the Redis store: an entry per revision. */
const HISTORY = '{k8s}:h';
const REDIS_PORT = 6379;
const BATCH = 500;
const BLOCK_MS = 300;
const COMMAND_TIMEOUT_MS = 5_000;
const KINDS: ReadonlyMap<string | undefined, WriteOperation['kind']> = new Map([
  ['c', 'create'],
  ['u', 'update'],
  ['d', 'delete'],
]);

/** Reads the history of form S on one connection, until it ends. */
export async function readRedis(cluster: ComposeCluster, { last, take, isOver }: Reading): Promise<void> {
  const redis = await connect(cluster);
  try {
    while (!isOver()) {
      const answer = await redis.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', HISTORY, `${last()}-0`);
      for (const [id, fields] of answer?.[0]?.[1] ?? []) take(Number(id.split('-')[0]), commitOf(id, fields ?? []));
    }
  } finally {
    redis.disconnect();
  }
}

async function connect(cluster: ComposeCluster): Promise<Redis> {
  const [host] = await addressesOf(cluster.containerOf('redis'));
  if (host === undefined) throw new Error('Redis is down');
  const folder = path.join(cluster.stateFolder, 'redis');
  const configuration = readFileSync(path.join(folder, 'redis.conf'), 'utf8');
  const [, password = ''] = /^user default reset on >(\S+)/m.exec(configuration) ?? [];
  const redis = new Redis({
    host,
    port: REDIS_PORT,
    password,
    tls: { ca: readFileSync(path.join(folder, 'ca.crt'), 'utf8'), servername: 'redis' },
    lazyConnect: true,
    retryStrategy: null,
    commandTimeout: COMMAND_TIMEOUT_MS,
    maxRetriesPerRequest: 0,
  });
  redis.on('error', () => {});
  await redis.connect();
  return redis;
}

function commitOf(id: string, fields: readonly string[]): Commit | undefined {
  const of = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
  const [kind, key, value] = [KINDS.get(of('o')), of('k'), of('v')];
  if (kind === undefined || key === undefined || value === undefined) return undefined;
  const expectedRevision = Number(of('p'));
  const operation: WriteOperation = kind === 'create' ? { kind, key, value } : { kind, key, value, expectedRevision };
  return { revision: Number(id.split('-')[0]), operation };
}
