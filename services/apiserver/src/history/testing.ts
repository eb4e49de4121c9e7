import { createSilentLog, type Log, type LogFields, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createMemoryStore } from '@holdfast/store/memory';
import type { ApiServerDeps } from '../app.ts';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { createMemorySegments, type SegmentStore } from './segment-store.ts';

export const HISTORY = '/holdfast.io/history/v1';
/** Beyond it the next change begins a segment. */
export const SEGMENT_MS = 11_000;

type Clock = ReturnType<typeof createVirtualClock>;

export interface HistoryApi extends TestApi {
  readonly clock: Clock;
  readonly segments: SegmentStore;
  readonly warnings: readonly string[];
}

export async function startHistoryApi(
  options: Partial<ApiServerDeps> & {
    readonly clock?: Clock;
    readonly segments?: SegmentStore;
    readonly limitBytes?: number;
  } = {},
): Promise<HistoryApi> {
  const {
    segments = { ...createMemorySegments(), isLasting: true },
    limitBytes = 1e9,
    clock = createVirtualClock(START),
    ...rest
  } = options;
  const warnings: string[] = [];
  const log: Log = {
    ...createSilentLog(),
    warn: (text: string, fields?: LogFields) => void warnings.push(`${text} ${JSON.stringify(fields)}`),
  };
  const store = options.store ?? createMemoryStore();
  const api = await startTestApi({
    ...rest,
    store,
    clock,
    log,
    history: { segments, retentionMs: 600_000, limitBytes },
  });
  await until(() => hasToldSchemas(api));
  return { ...api, clock, segments, warnings };
}

/** The server has written what it writes by itself after its start: it would be in the segments of the test. */
async function hasToldSchemas(api: TestApi): Promise<boolean> {
  const schemas = (await api.call('GET', '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas')).at('items');
  return Array.isArray(schemas) && schemas.every((schema) => valueAt(schema, 'status.conditions') !== undefined);
}

/** 2026-01-31T10:00:00Z. */
const START = 1_769_853_600_000;

/** Seven changes of as many segments. */
export async function writeSegments(api: HistoryApi, count: number): Promise<readonly string[]> {
  const revisions: string[] = [];
  for (let n = 0; n < count; n++) {
    api.clock.jump(SEGMENT_MS);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `c${n}` }, data: { n: String(n) } };
    const answer = await api.call('POST', '/api/v1/namespaces/default/configmaps', { body });
    revisions.push(answer.textAt('metadata.resourceVersion'));
  }
  return revisions;
}

/** Segments are written on other threads. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await holds()); turn++) {
    if (turn === TURNS_MAX) throw new Error('it did not happen');
    await nextTurn();
  }
}

const TURNS_MAX = 100_000;

/** What a process sees of shared segments: after its death it changes nothing. */
export function mortal(shared: SegmentStore): SegmentStore & { die(): void } {
  let isAlive = true;
  return {
    isLasting: true,
    open: () => shared.open(),
    list: () => shared.list(),
    read: (name, at, length) => shared.read(name, at, length),
    write: async (name, bytes) => {
      if (isAlive) await shared.write(name, bytes);
    },
    remove: async (name) => {
      if (isAlive) await shared.remove(name);
    },
    die: () => {
      isAlive = false;
    },
  };
}
