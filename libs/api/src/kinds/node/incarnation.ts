import { parseTime } from '@holdfast/platform';
import type { Lease, Node } from '../../generated/types.ts';
import { fenceOf } from './fence.ts';

/** Annotation of a Node: the incarnation that it is bound to. Nodes of other kubelets lack it and are not bound. */
export const NODE_INCARNATION = 'holdfast.io/incarnation';
/** Header of each request of our kubelet: its incarnation. */
export const INCARNATION_HEADER = 'holdfast-incarnation';
/** Cause in the details of a refusal. */
export const OTHER_INCARNATION = 'OtherIncarnation';

/** One machine under the name of a node, from one boot to the next. */
export interface NodeIncarnation {
  /** Generated on the first start and kept in the kubelet's state directory. A copied disk has the same key. */
  readonly key: string;
  /**
   * Identifies the hardware and the container on it; it is not stored on the disk. One machine runs one boot at a time.
   */
  readonly machine: string;
  readonly boot: string;
}

const PART = '[0-9A-Za-z-]{1,64}';
const TEXT = new RegExp(`^(${PART})/(${PART})/(${PART})$`);

export const formatIncarnation = ({ key, machine, boot }: NodeIncarnation): string => `${key}/${machine}/${boot}`;

export function parseIncarnation(text: string | undefined): NodeIncarnation | undefined {
  const [, key, machine, boot] = TEXT.exec(text ?? '') ?? [];
  return key === undefined || machine === undefined || boot === undefined ? undefined : { key, machine, boot };
}

export const incarnationOf = ({ metadata }: Node): NodeIncarnation | undefined =>
  parseIncarnation(metadata.annotations?.[NODE_INCARNATION]);

export interface IncarnationFacts {
  readonly node: Node | undefined;
  readonly lease: Lease | undefined;
  readonly claimed: NodeIncarnation | undefined;
  readonly nowMs: number;
}

/**
 * `same`: the Node belongs to the claimant or is unbound. `mayClaim`: it belongs to another incarnation that is known
 * to be gone. Any other value is the reason why the claimant may not use the node's name.
 */
export type IncarnationVerdict =
  | { readonly kind: 'same' | 'mayClaim' }
  | { readonly kind: 'refused'; readonly why: string };

/** A kubelet renews its lease every ten seconds. */
const LEASE_LIVE_MS = 25_000;

/** Pure. `docs/decisions/0009-node-incarnation.md` explains the rules. */
export function judgeIncarnation({ node, lease, claimed, nowMs }: IncarnationFacts): IncarnationVerdict {
  const bound = node === undefined ? undefined : incarnationOf(node);
  if (node === undefined || bound === undefined) return { kind: 'same' };
  if (claimed === undefined) return refused('the kubelet does not report the identity of its machine');
  if (isSame(bound, claimed)) return { kind: 'same' };
  if (fenceOf(node) === 'node') return { kind: 'mayClaim' };
  if (bound.key !== claimed.key) return refused('another machine, or a new installation of this one, has this name');
  if (bound.machine !== claimed.machine)
    return refused('this disk was copied from, or moved out of, the machine that has this name');
  const renewedAt = parseTime(lease?.spec?.renewTime ?? '') ?? Number.NEGATIVE_INFINITY;
  // A clock that was ahead may have written a renewal far in the future. Such a lease does not count as live.
  if (Math.abs(nowMs - renewedAt) < LEASE_LIVE_MS)
    return refused('an earlier boot of this machine reported a moment ago');
  return { kind: 'mayClaim' };
}

const refused = (why: string): IncarnationVerdict => ({ kind: 'refused', why });

const isSame = (a: NodeIncarnation, b: NodeIncarnation): boolean => formatIncarnation(a) === formatIncarnation(b);
