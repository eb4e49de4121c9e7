import { cellText, type Row, type TableModel } from './table.ts';

/** In the order of the legend: what needs a person comes first. */
export const POD_STATES = [
  'failing',
  'unready',
  'waiting',
  'starting',
  'ending',
  'unknown',
  'running',
  'finished',
] as const;
export type PodState = (typeof POD_STATES)[number];

export const STATE_WORDS: Readonly<Record<PodState, string>> = {
  running: 'running',
  unready: 'not ready',
  starting: 'starting',
  waiting: 'waiting for a node',
  ending: 'ending',
  failing: 'failing',
  unknown: 'not heard of',
  finished: 'finished',
};

export interface Pod {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty: bound to no node. */
  readonly node: string;
  readonly state: PodState;
  /** The server's word: `CrashLoopBackOff`. */
  readonly status: string;
  readonly ready: string;
  readonly restarts: string;
  readonly createdAt: string;
}

export interface PodColumns {
  readonly ready: number;
  readonly status: number;
  readonly restarts: number;
  readonly node: number;
}

export const podColumns = (model: TableModel): PodColumns => ({
  ready: model.columnAt('Ready'),
  status: model.columnAt('Status'),
  restarts: model.columnAt('Restarts'),
  node: model.columnAt('Node'),
});

export function podOf(row: Row, columns: PodColumns): Pod {
  const node = cellText(row, columns.node);
  const [status, ready] = [cellText(row, columns.status), cellText(row, columns.ready)];
  const isBound = node !== '' && node !== '<none>';
  return {
    key: row.key,
    namespace: row.namespace,
    name: row.name,
    node: isBound ? node : '',
    state: stateOf({ status, ready, isBound, isDeleted: row.isDeleted }),
    status,
    ready,
    restarts: cellText(row, columns.restarts),
    createdAt: row.createdAt,
  };
}

interface Facts {
  readonly status: string;
  readonly ready: string;
  readonly isBound: boolean;
  readonly isDeleted: boolean;
}

const FAILING = /BackOff|^Err|Error|Failed|Evicted|OOMKilled|Invalid|Never|Unexpected|^Node(Affinity|Ports)/;

export function stateOf({ status, ready, isBound, isDeleted }: Facts): PodState {
  if (status === 'Unknown' || status === 'NodeLost') return 'unknown';
  if (isDeleted || status === 'Terminating') return 'ending';
  if (status === 'Completed' || status === 'Succeeded') return 'finished';
  if (FAILING.test(status)) return 'failing';
  if (!isBound) return 'waiting';
  if (status !== 'Running') return 'starting';
  const [up, all] = ready.split('/');
  return up === all ? 'running' : 'unready';
}
