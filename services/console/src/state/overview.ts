import { POD_STATES, type Pod, type PodState, podColumns, podOf } from './pod-state.ts';
import { cellText, type Row, type TableModel } from './table.ts';

export type NodeState = 'ready' | 'silent' | 'closed';

export interface NodeCard {
  readonly name: string;
  readonly state: NodeState;
  /** The server's words: `Ready,SchedulingDisabled`. */
  readonly status: string;
  readonly pods: readonly Pod[];
}

export interface Overview {
  readonly nodes: readonly NodeCard[];
  /** Pods that no node has. */
  readonly unbound: readonly Pod[];
  readonly counts: ReadonlyMap<PodState, number>;
  /** Pods that a person may want to look at, the worst first. */
  readonly attention: readonly Pod[];
}

const ATTENTION_MAX = 12;
const RANK = new Map(POD_STATES.map((state, index) => [state, index]));
const NEEDS_ATTENTION: ReadonlySet<PodState> = new Set(['failing', 'unready', 'waiting', 'unknown', 'ending']);

/**
 * Builds the overview from the rows of nodes and pods. Whatever did not change is the same object as before, so that
 * the view draws again only the cards that differ.
 */
export class OverviewBuilder {
  #pods = new Map<Row, Pod>();
  #cards = new Map<string, NodeCard>();

  build(nodes: TableModel, pods: TableModel): Overview {
    const byNode = this.#podsByNode(pods);
    const status = nodes.columnAt('Status');
    const cards = [...nodes.rows.values()].map((row) => this.#card(row.name, cellText(row, status), byNode));
    this.#cards = new Map(cards.map((card) => [card.name, card]));
    const lost = [...byNode.keys()].filter((name) => name !== '' && !this.#cards.has(name));
    const gone = lost.map((name) => this.#card(name, 'NotReady, node object is gone', byNode));
    const all = [...this.#pods.values()];
    return {
      nodes: [...cards, ...gone].sort(byName),
      unbound: byNode.get('') ?? [],
      counts: countsOf(all),
      attention: all
        .filter(({ state }) => NEEDS_ATTENTION.has(state))
        .sort((a, b) => (RANK.get(a.state) ?? 0) - (RANK.get(b.state) ?? 0) || compare(a.key, b.key))
        .slice(0, ATTENTION_MAX),
    };
  }

  #podsByNode(table: TableModel): ReadonlyMap<string, readonly Pod[]> {
    const columns = podColumns(table);
    const known = new Map<Row, Pod>();
    const byNode = new Map<string, Pod[]>();
    for (const row of table.rows.values()) {
      const pod = this.#pods.get(row) ?? podOf(row, columns);
      known.set(row, pod);
      const there = byNode.get(pod.node);
      if (there === undefined) byNode.set(pod.node, [pod]);
      else there.push(pod);
    }
    this.#pods = known;
    for (const pods of byNode.values()) pods.sort((a, b) => compare(a.key, b.key));
    return byNode;
  }

  #card(name: string, status: string, byNode: ReadonlyMap<string, readonly Pod[]>): NodeCard {
    const pods = byNode.get(name) ?? [];
    const before = this.#cards.get(name);
    if (before !== undefined && before.status === status && isSameList(before.pods, pods)) return before;
    return { name, status, state: nodeStateOf(status), pods };
  }
}

export function nodeStateOf(status: string): NodeState {
  const words = status.split(',');
  if (!words.includes('Ready')) return 'silent';
  return words.includes('SchedulingDisabled') ? 'closed' : 'ready';
}

function countsOf(pods: readonly Pod[]): ReadonlyMap<PodState, number> {
  const counts = new Map<PodState, number>();
  for (const { state } of pods) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

const isSameList = (a: readonly Pod[], b: readonly Pod[]): boolean =>
  a.length === b.length && a.every((each, index) => each === b[index]);

const compare = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** `node-2` before `node-10`. */
const byName = (a: NodeCard, b: NodeCard): number => a.name.localeCompare(b.name, 'en', { numeric: true });
