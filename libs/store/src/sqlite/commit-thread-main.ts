import { parentPort } from 'node:worker_threads';
import { createSystemClock } from '@holdfast/platform/clock';
import { invariant } from '@holdfast/platform/invariant';
import { threadData } from '@holdfast/platform/thread-data';
import { SQLITE_LOAD_ROWS } from '../limits.ts';
import { ChangeDatabase, FilesReplaced, isInDoubt, OpenError } from './database.ts';
import { IdleCheckpoints } from './idle-checkpoints.ts';
import type { Request, Response, StartMessage, ThreadStart } from './protocol.ts';

/** The thread that owns the database file, so that an fsync never blocks the thread that serves clients. */
function main(): void {
  invariant(parentPort !== null, 'this module runs as a thread');
  const port = parentPort;
  const tell = (message: StartMessage | Response): void => port.postMessage(message);
  const database = open(tell);
  if (database === undefined) {
    port.close();
    return;
  }
  const checkpoints = new IdleCheckpoints(database, createSystemClock());
  let isBroken = false;
  port.on('message', (request: Request) => {
    const response: Response = isBroken
      ? { kind: 'broken', message: 'an earlier write failed' }
      : serve(database, request);
    isBroken ||= response.kind === 'broken' || response.kind === 'replaced';
    tell(response);
    if (isBroken || request.kind === 'close') checkpoints.stop();
    else if (request.kind === 'commit') checkpoints.wrote();
    if (request.kind === 'close') port.close();
  });
}

function open(tell: (message: StartMessage) => void): ChangeDatabase | undefined {
  try {
    const database = ChangeDatabase.open(threadData() as ThreadStart);
    const halted = database.halted();
    if (halted !== undefined) throw new OpenError({ reason: 'halted', message: `it is halted: ${halted}` });
    const marks = { newest: database.newest(), compacted: database.compacted() };
    for (const rows of database.columns(SQLITE_LOAD_ROWS)) tell({ kind: 'rows', rows, marks });
    tell({ kind: 'opened', opened: { compacted: marks.compacted, lineage: database.lineage() } });
    return database;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    tell({ kind: 'failed', failure: error instanceof OpenError ? error.failure : { reason: 'damaged', message } });
    return undefined;
  }
}

function serve(database: ChangeDatabase, request: Request): Response {
  try {
    if (request.kind !== 'close') database.assertOwnFiles();
    switch (request.kind) {
      case 'check':
        return { kind: 'done' };
      case 'halt':
        database.halt(request.reason);
        return { kind: 'done' };
      case 'commit':
        database.commit(request.rows);
        return { kind: 'done' };
      case 'history':
        return { kind: 'done', rows: database.rowsAfter(request.after, request.limit) };
      case 'markCompacted':
        database.markCompacted(request.upTo);
        return { kind: 'done' };
      case 'trim':
        return { kind: 'done', more: database.trim() };
      case 'close':
        database.close();
        return { kind: 'done' };
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof FilesReplaced) return { kind: 'replaced', message };
    return { kind: isInDoubt(error) ? 'broken' : 'refused', message };
  }
}

main();
