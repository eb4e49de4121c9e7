import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import type { Change, WriteOperation } from '@holdfast/store';
import { createLogStore } from '@holdfast/store/log';
import type { Commit } from '../../sim/committed.ts';
import { addressesOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { storesOf } from '../support/compose-form.ts';
import type { Reading } from './store-log.ts';

const LOOK_MS = 300;
/** After restarts the servers may have other addresses: a store that cannot serve for so long is opened anew. */
const TROUBLE_MS = 8_000;
const STORE_USER = /^HOLDFAST_STORE_USER=(\S+)/m;

/** Reads the history of form H as one more process of the log, until its store cannot serve any more. */
export async function readReplicatedLog(cluster: ComposeCluster, { last, take, isOver }: Reading): Promise<void> {
  const store = await openStore(cluster);
  const over = new AbortController();
  const clock = createSystemClock();
  const looking = (async (): Promise<void> => {
    let wellAt = clock.monotonic();
    while (!isOver() && !over.signal.aborted && clock.monotonic() - wellAt < TROUBLE_MS) {
      if ((await store.health()).length === 0) wellAt = clock.monotonic();
      await clock.sleep(LOOK_MS);
    }
    over.abort();
  })();
  try {
    for await (const changes of store.changes({ after: last(), signal: over.signal }))
      for (const change of changes) take(change.revision, commitOf(change));
  } finally {
    over.abort();
    await looking;
    await store.close();
  }
}

/** What a process of form H needs to reach the log. */
async function storeAccess(cluster: ComposeCluster): Promise<{
  readonly servers: readonly string[];
  readonly user: string;
  readonly password: string;
  readonly tls: { readonly ca: string; readonly servername: string };
}> {
  const stores = storesOf(cluster.form);
  const hosts = await addressesOf(...stores.map((store) => cluster.containerOf(store)));
  const folder = path.join(cluster.stateFolder, 'apiserver');
  const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
  const [, user = ''] = STORE_USER.exec(read('service.env')) ?? [];
  // Their certificates have no addresses, which change.
  const tls = { ca: read('ca.crt'), servername: 'localhost' };
  const servers = hosts.map((host) => `tls://${host}:4222`);
  return { servers, user, password: read('store-password').trim(), tls };
}

async function openStore(cluster: ComposeCluster): Promise<Awaited<ReturnType<typeof createLogStore>>> {
  return createLogStore({
    ...(await storeAccess(cluster)),
    monitors: [],
    // It writes nothing that could be lost: the API servers look at the guarantees.
    allowUnsafe: true,
    acceptOldServers: true,
    clock: createSystemClock(),
    ids: createIds(createSystemRandom()),
    log: createSilentLog(),
  });
}

function commitOf({ kind: changed, key, value, revision, previousRevision }: Change): Commit {
  const kind = KINDS[changed];
  const operation: WriteOperation =
    kind === 'create' ? { kind, key, value } : { kind, key, value, expectedRevision: previousRevision };
  return { revision, operation };
}

const KINDS = { created: 'create', updated: 'update', deleted: 'delete' } as const;
