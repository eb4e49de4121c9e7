import type { RefusedNode, RefusedRest } from '@holdfast/client/why';
import type { NodeRejection } from '../framework/prepared.ts';
import {
  REFUSED_GROUPS_MAX,
  REFUSED_NODES_NAMED_MAX,
  REFUSED_REASON_LENGTH_MAX,
  REFUSED_REASONS_MAX,
} from '../limits.ts';
import type { NodeInfo } from './node-info.ts';
import type { Refusal } from './schedule.ts';

/** Why each node was refused, for people: a bounded number of nodes by name, the others counted. */
export interface RefusedNodes {
  readonly total: number;
  readonly nodes: readonly RefusedNode[];
  readonly rest: readonly RefusedRest[];
}

/** Equal pods share rejections; they name all nodes then. */
const known = new WeakMap<Refusal['rejections'], RefusedNodes>();

export function refusedNodes(
  all: readonly NodeInfo[],
  { rejections, others }: Pick<Refusal, 'rejections' | 'others'>,
): RefusedNodes {
  const before = known.get(rejections);
  if (before !== undefined) return before;
  const found = summarize(all, rejections, others);
  if (others === undefined) known.set(rejections, found);
  return found;
}

/** The decision failed before any node was judged. */
export const judgedNone = (total: number): RefusedNodes => ({ total, nodes: [], rest: [] });

/** One node that passed all filters, and was refused afterwards. */
export const refusedNode = (
  total: number,
  node: string,
  rejection: Pick<NodeRejection, 'plugin' | 'reasons'>,
): RefusedNodes => ({
  total,
  nodes: [{ node, ...shownOf(rejection) }],
  rest: [],
});

function summarize(
  all: readonly NodeInfo[],
  rejections: Refusal['rejections'],
  others: NodeRejection | undefined,
): RefusedNodes {
  const nodes: RefusedNode[] = [];
  const groups = new Groups();
  for (const { name } of all) {
    const rejection = rejections.get(name) ?? others;
    if (rejection === undefined) continue;
    if (nodes.length < REFUSED_NODES_NAMED_MAX) nodes.push({ node: name, ...shownOf(rejection) });
    else groups.add(rejection);
  }
  return { total: all.length, nodes, rest: groups.largest() };
}

/** Counts nodes with equal reasons. */
class Groups {
  readonly #byText = new Map<string, { readonly rejection: NodeRejection; nodes: number }>();
  #last: { readonly rejection: NodeRejection; nodes: number } | undefined;

  add(rejection: NodeRejection): void {
    // Consecutive nodes of a full cluster have the same reasons, usually in the same array.
    const last = this.#last?.rejection;
    if (last?.reasons !== rejection.reasons || last.plugin !== rejection.plugin) this.#last = this.#groupOf(rejection);
    if (this.#last !== undefined) this.#last.nodes++;
  }

  /** What is beyond the limit is in the last one, without reasons. */
  largest(): readonly RefusedRest[] {
    const sorted = [...this.#byText.values()].toSorted((a, b) => b.nodes - a.nodes);
    const named = sorted.slice(0, REFUSED_GROUPS_MAX).map(({ rejection, nodes }) => ({ nodes, ...shownOf(rejection) }));
    const left = sorted.slice(REFUSED_GROUPS_MAX).reduce((sum, { nodes }) => sum + nodes, 0);
    return left === 0 ? named : [...named, { nodes: left, plugin: '', reasons: [] }];
  }

  #groupOf(rejection: NodeRejection) {
    const text = [rejection.plugin, ...rejection.reasons].join('\n');
    const group = this.#byText.get(text) ?? { rejection, nodes: 0 };
    this.#byText.set(text, group);
    return group;
  }
}

const shownOf = ({ plugin, reasons }: Pick<NodeRejection, 'plugin' | 'reasons'>) => ({
  plugin,
  reasons: reasons.slice(0, REFUSED_REASONS_MAX).map((reason) => cut(reason, REFUSED_REASON_LENGTH_MAX)),
});

export const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 3)}...` : text;
