import { FENCED, type Lease, type Node, nodeCondition, promiseOf } from '@holdfast/api/facts';
import { parseTime } from '@holdfast/platform/time';
import type { HistoryChange } from '../history/documents.ts';
import { type Cell, feedCell, heardCell, knowsCell, storeCell } from './cells.ts';

/** What an API server says of itself. */
export interface ServerReport {
  readonly name: string;
  /** Its `/readyz?verbose`; undefined: no answer. */
  readonly readyz: string | undefined;
}

/** What the components reported. Nothing else decides what the matrix shows. */
export interface HearingFacts {
  readonly nodes: readonly Node[];
  readonly nodeLeases: readonly Lease[];
  /** Leases of the leaders among the components. */
  readonly componentLeases: readonly Lease[];
  /** The latest changes, oldest first; empty without a history. */
  readonly changes: readonly HistoryChange[];
  /** The API servers that can be asked one by one, or the one that answers; empty: of the past nobody keeps it. */
  readonly servers: readonly ServerReport[];
  /** Milliseconds since the epoch, by the clock of the server where it is known. */
  readonly now: number;
}

/** A row of the matrix: who hears this party, and whom it hears. */
export interface Party {
  readonly kind: 'server' | 'node' | 'component';
  readonly name: string;
  /** Whether the API server hears it. */
  readonly isHeard: Cell;
  /** Whether it hears of changes, over the bus or a watch. */
  readonly knows: Cell;
  /** Whether it reaches the store; only API servers do. */
  readonly store: Cell;
}

const NONE: Cell = { state: 'none', text: '' };

/** Returns the rows: the API servers, the nodes, and the components that elect a leader. */
export function partiesOf(facts: HearingFacts): readonly Party[] {
  const { nodes, nodeLeases, componentLeases, servers } = facts;
  const leases = new Map(nodeLeases.map((lease) => [lease.metadata.name ?? '', lease]));
  return [
    ...servers.map(serverParty),
    ...nodes.map((node) => nodeParty(facts, node, leases.get(node.metadata.name ?? ''))).toSorted(byName),
    ...componentLeases.map((lease) => componentParty(facts, lease)).toSorted(byName),
  ];
}

const byName = (a: Party, b: Party): number => a.name.localeCompare(b.name, 'en', { numeric: true });

const serverParty = ({ name, readyz }: ServerReport): Party => ({
  kind: 'server',
  name,
  isHeard: readyz === undefined ? { state: 'silent', text: 'does not answer' } : { state: 'hears', text: 'answers' },
  knows: feedCell(readyz),
  store: storeCell(readyz),
});

function nodeParty(facts: HearingFacts, node: Node, lease: Lease | undefined): Party {
  const { name = '' } = node.metadata;
  const isHeard = heardCell(facts.now, leaseTimes(lease), verdictsOf(node, lease));
  return { kind: 'node', name, isHeard, knows: knowsCell(facts.changes, `system:node:${name}`), store: NONE };
}

function componentParty(facts: HearingFacts, lease: Lease): Party {
  const { name = '' } = lease.metadata;
  const isHeard = heardCell(facts.now, leaseTimes(lease), []);
  return { kind: 'component', name, isHeard, knows: knowsCell(facts.changes, `system:${name}`), store: NONE };
}

const leaseTimes = (lease: Lease | undefined) => ({
  renewedMs: parseTime(lease?.spec?.renewTime ?? ''),
  durationMs: (lease?.spec?.leaseDurationSeconds ?? 0) * 1000,
});

/** What the control plane has concluded from the silence of a node. */
function verdictsOf(node: Node, lease: Lease | undefined): readonly string[] {
  const fence = nodeCondition(node, FENCED)?.status;
  return [
    ...(nodeCondition(node, 'Ready')?.status === 'Unknown' ? ['declared not ready'] : []),
    ...(lease !== undefined && promiseOf(lease)?.isBroken === true ? ['its promise is waited out'] : []),
    ...(fence === 'True' ? ['cut off by the fencer'] : fence === 'Unknown' ? ['being cut off by the fencer'] : []),
  ];
}
