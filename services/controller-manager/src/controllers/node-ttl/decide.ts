import type { Node } from '@holdfast/api';

export const TTL_ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** The range of node counts for an advice; ranges overlap so that the advice does not flap at their borders. */
const ADVICE: readonly { readonly from: number; readonly to: number; readonly seconds: number }[] = [
  { from: 0, to: 100, seconds: 0 },
  { from: 90, to: 500, seconds: 15 },
  { from: 450, to: 1_000, seconds: 30 },
  { from: 900, to: 2_000, seconds: 60 },
  { from: 1_800, to: 10_000, seconds: 300 },
  { from: 9_000, to: Number.MAX_SAFE_INTEGER, seconds: 600 },
];

/**
 * Returns the node with the advice how long its kubelet may cache objects in a cluster of this size; `undefined` when
 * it is up to date.
 */
export function decide(node: Node, nodes: number): Node | undefined {
  const current = node.metadata.annotations?.[TTL_ANNOTATION];
  if (ADVICE.some(({ from, to, seconds }) => String(seconds) === current && from <= nodes && nodes <= to)) {
    return undefined;
  }
  const seconds = ADVICE.find(({ to }) => nodes <= to)?.seconds ?? 0;
  const annotations = { ...node.metadata.annotations, [TTL_ANNOTATION]: String(seconds) };
  return { ...node, metadata: { ...node.metadata, annotations } };
}
