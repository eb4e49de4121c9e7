import { FENCED, type Node, type NodeCondition, nodeCondition } from '@holdfast/api';
import { isJsonObject, ownValue, parseJson } from '@holdfast/machinery';
import type { FenceScope } from '../agents/port.ts';

/** Annotations of a Node. Users and detectors set the first three; the last one is the fencer's own record. */
export const PARTITIONED = 'fencing/partitioned';
export const REQUESTED = 'fencing/requested';
export const UNFENCE = 'fencing/unfence';
/** On a fence that a user requested: now release its resources. */
export const RELEASE = 'fencing/release';
export const CLAIM = 'fencing/claim';

/** Keeps new pods off a node that is fenced but not released. */
export const FENCED_TAINT = 'fencing/fenced';

/** A claimed fence. The Node records it before the request to the agent, so a restarted fencer continues it. */
export interface FenceClaim {
  readonly requestId: string;
  /** The fencer that works on it. */
  readonly holder: string;
  readonly agent: string;
  readonly scope: FenceScope;
  /** Storage servers that the agent cuts off; empty means all. Later changes of the configuration are not confirmed. */
  readonly servers: readonly string[];
  readonly trigger: 'rule' | 'request';
  readonly reason: string;
  /** Maximum time from the loss of the node to the confirmed fence. */
  readonly boundSeconds: number;
  /**
   * The fence is being lifted, because a user requested it or the node reported again. From now on this request never
   * fences again.
   */
  readonly lifting?: 'asked' | 'heard';
  /** A claim of a rule that was not counted among the others since it is stored; its agent has not been asked yet. */
  readonly isTentative?: true;
}

export const encodeClaim = (claim: FenceClaim): string => JSON.stringify(claim);

/** Returns `undefined` when there is no readable claim. */
export function claimOf({ metadata }: Node): FenceClaim | undefined {
  const text = metadata.annotations?.[CLAIM];
  if (text === undefined) return undefined;
  try {
    const { value } = parseJson(text);
    return isJsonObject(value) && isClaim(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isClaim(value: object): value is FenceClaim {
  const texts = ['requestId', 'holder', 'agent', 'reason'].every((key) => typeof Reflect.get(value, key) === 'string');
  const scope: unknown = Reflect.get(value, 'scope');
  const trigger: unknown = Reflect.get(value, 'trigger');
  const isKnown = (scope === 'node' || scope === 'storage') && (trigger === 'rule' || trigger === 'request');
  const servers: unknown = Reflect.get(value, 'servers');
  const areNames = Array.isArray(servers) && servers.every((each) => typeof each === 'string');
  return texts && isKnown && areNames && typeof Reflect.get(value, 'boundSeconds') === 'number';
}

/** True when the annotation is `true` or any other value that is not a denial. */
export function isMarked({ metadata }: Node, annotation: string): boolean {
  const value = ownValue(metadata.annotations, annotation);
  return value !== undefined && value !== '' && value !== 'false';
}

export const fencedConditionOf = (node: Node): NodeCondition | undefined => nodeCondition(node, FENCED);
