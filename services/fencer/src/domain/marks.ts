import { FENCED, type Node, type NodeCondition, nodeCondition } from '@holdfast/api';
import { isJsonObject, ownValue, parseJson } from '@holdfast/machinery';
import type { FenceScope } from '../agents/port.ts';

/** Annotations of a Node. The first three are words of users and detectors; the last one is the fencer's own note. */
export const PARTITIONED = 'fencing/partitioned';
export const REQUESTED = 'fencing/requested';
export const UNFENCE = 'fencing/unfence';
/** Of a fence that a user asked for: now release what it held. */
export const RELEASE = 'fencing/release';
export const CLAIM = 'fencing/claim';

/** Keeps new pods off a node that is fenced and not released. */
export const FENCED_TAINT = 'fencing/fenced';

/** A fence that somebody has taken on. It is on the Node before an agent is asked, so a restart goes on with it. */
export interface FenceClaim {
  readonly requestId: string;
  /** Which fencer works on it. */
  readonly holder: string;
  readonly agent: string;
  readonly scope: FenceScope;
  /** Storage servers that the agent cuts off; empty = all. What the configuration says later was not confirmed. */
  readonly servers: readonly string[];
  readonly trigger: 'rule' | 'request';
  readonly reason: string;
  /** From the loss of the node to the confirmed fence, at most. */
  readonly boundSeconds: number;
  /** It is being taken back, because a user said so or the node was heard: from then on this request never fences again. */
  readonly lifting?: 'asked' | 'heard';
}

export const encodeClaim = (claim: FenceClaim): string => JSON.stringify(claim);

/** Undefined when there is none, or none that can be read. */
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

/** Whether somebody wrote this word on the node: `true`, or anything that is no denial. */
export function isMarked({ metadata }: Node, annotation: string): boolean {
  const value = ownValue(metadata.annotations, annotation);
  return value !== undefined && value !== '' && value !== 'false';
}

export const fencedConditionOf = (node: Node): NodeCondition | undefined => nodeCondition(node, FENCED);
