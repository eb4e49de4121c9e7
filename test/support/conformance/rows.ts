import { readFileSync } from 'node:fs';
import path from 'node:path';

export const ROWS_FILE = path.resolve(import.meta.dirname, '../../../docs/conformance-rows.json');

export const NODE_KINDS = ['process', 'process without root', 'docker', 'containerd'] as const;
export type NodeKind = (typeof NODE_KINDS)[number];

/** What is known of one conformance test. */
export interface Row {
  readonly group: 'apps' | 'network' | 'node' | 'storage';
  /**
   * `walks`: the table of walks; `by hand`: its calls were walked once; `upstream`: only the program below; else the test
   * that shows it.
   */
  readonly shown: string;
  /** On which nodes it does not hold, or is not known to, and why. It holds on all others. */
  readonly not?: Partial<Record<NodeKind, string>>;
  /** Where the test of this title of Kubernetes 1.20 passed, run by its own program. */
  readonly upstream?: readonly NodeKind[];
}

/** By the title of the conformance test, without its marks. */
export const readRows = (): Readonly<Record<string, Row>> => JSON.parse(readFileSync(ROWS_FILE, 'utf8'));

/** The table of `docs/conformance.md`: how many hold, for each group and kind of node. */
export function countTable(rows: Readonly<Record<string, Row>>): string {
  const groups = Map.groupBy(Object.values(rows), ({ group }) => group);
  const holding = (all: readonly Row[], kind: NodeKind): number =>
    all.filter(({ not }) => not?.[kind] === undefined).length;
  const line = ([group, all]: [string, readonly Row[]]): string =>
    `| ${[group, all.length, ...NODE_KINDS.map((kind) => holding(all, kind))].join(' | ')} |`;
  return [
    `| group | tests | ${NODE_KINDS.join(' | ')} |`,
    `|${' --- |'.repeat(NODE_KINDS.length + 2)}`,
    ...[...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(line),
  ].join('\n');
}

/** The second table of the page: how many the program of Kubernetes 1.20 has under these titles and passed, where. */
export function upstreamTable(rows: Readonly<Record<string, Row>>): string {
  const kinds = ['docker', 'containerd'] as const;
  const groups = Map.groupBy(Object.values(rows), ({ group }) => group);
  const passed = (all: readonly Row[], kind: NodeKind): number =>
    all.filter(({ upstream }) => upstream?.includes(kind) === true).length;
  return [
    `| group | ${kinds.join(' | ')} |`,
    `|${' --- |'.repeat(kinds.length + 1)}`,
    ...[...groups]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([group, all]) => `| ${[group, ...kinds.map((kind) => passed(all, kind))].join(' | ')} |`),
  ].join('\n');
}
