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

type Rows = Readonly<Record<string, Row>>;

/** The table of `docs/conformance.md`: how many hold, for each group and kind of node. */
export const countTable = (rows: Rows): string =>
  tableOf(rows, ['tests', ...NODE_KINDS], (all) => [
    all.length,
    ...NODE_KINDS.map((kind) => all.filter(({ not }) => not?.[kind] === undefined).length),
  ]);

/** The second table of the page: how many the program of Kubernetes 1.20 has under these titles and passed, where. */
export function upstreamTable(rows: Rows): string {
  const kinds = ['docker', 'containerd'] as const;
  return tableOf(rows, kinds, (all) =>
    kinds.map((kind) => all.filter(({ upstream }) => upstream?.includes(kind) === true).length),
  );
}

function tableOf(rows: Rows, heads: readonly string[], counts: (all: readonly Row[]) => readonly number[]): string {
  const groups = [...Map.groupBy(Object.values(rows), ({ group }) => group)];
  return [
    `| group | ${heads.join(' | ')} |`,
    `|${' --- |'.repeat(heads.length + 1)}`,
    ...groups
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([group, all]) => `| ${[group, ...counts(all)].join(' | ')} |`),
  ].join('\n');
}
