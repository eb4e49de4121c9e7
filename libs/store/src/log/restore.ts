import { describeError, OperatorError } from '@holdfast/platform';
import type { NatsConnection } from 'nats';
import type { StoreContent } from '../backup.ts';
import { ObjectTable } from '../internal/object-table.ts';
import { ADOPTION_JUMP, LOG_START_TIMEOUT_MS, LOG_TICK_MS } from '../limits.ts';
import type { Revision } from '../port.ts';
import type { AdoptLogOptions } from './adopt.ts';
import { beginEpoch, firstState } from './begin-epoch.ts';
import { DEFAULT_REPLICAS } from './guarantee-check.ts';
import { logNames } from './layout.ts';
import { LogLink } from './link.ts';
import { unreachableError } from './open-errors.ts';
import { prepareBase, readCurrent } from './open-log.ts';

/** Puts these objects into servers without a log, in a new epoch above all their revisions. */
export async function restoreLogStore(
  options: AdoptLogOptions,
  incarnation: string,
  content: StoreContent,
): Promise<Revision> {
  const { clock, log, name, servers, user = 'anyone', replicas = DEFAULT_REPLICAS } = options;
  const inboxPrefix = `_INBOX_${user}`;
  const ignore = (): void => undefined;
  const link = new LogLink({ access: options, inboxPrefix, clock, log, onConnection: ignore, onLost: ignore });
  const names = logNames(name);
  try {
    const connection = await prepared(link, options, (ready) => prepareBase(ready, { names, replicas }));
    if ((await readCurrent(connection, names)) !== undefined) throw notEmpty();
    const table = new ObjectTable();
    for (const object of content.objects) table.restore(Object.freeze({ ...object }));
    const state = firstState(table, content.revision + ADOPTION_JUMP);
    const lineage = { incarnation, epoch: 2 };
    if (!(await beginEpoch(connection, { names, lineage, state, replicas, after: 0 }))) throw notEmpty();
    return state.table.revision;
  } catch (error) {
    throw error instanceof OperatorError ? error : unreachableError(servers, link.trouble() ?? describeError(error));
  } finally {
    await link.close();
  }
}

/** Waits for the servers, which refuse for a while after they started. */
async function prepared(
  link: LogLink,
  { clock, servers, startTimeoutMs = LOG_START_TIMEOUT_MS }: AdoptLogOptions,
  prepare: (connection: NatsConnection) => Promise<void>,
): Promise<NatsConnection> {
  const deadline = clock.monotonic() + startTimeoutMs;
  for (;;) {
    const { connection } = link;
    try {
      if (connection === undefined) throw unreachableError(servers, link.trouble() ?? 'not connected');
      await prepare(connection);
      return connection;
    } catch (error) {
      if (clock.monotonic() >= deadline) throw error;
      await clock.sleep(LOG_TICK_MS);
    }
  }
}

const notEmpty = (): OperatorError =>
  new OperatorError({
    code: 'STORE_NOT_EMPTY',
    message: 'The NATS servers hold a store, and nothing was restored',
    nextStep: 'Use servers without a store of Holdfast; its streams begin with HOLDFAST_.',
  });
