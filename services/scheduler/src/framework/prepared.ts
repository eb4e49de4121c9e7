import type { NodeInfo } from '../domain/node-info.ts';
import type { Asked } from './asked.ts';
import type { Fork, NodeFilter, Rejection } from './plugin.ts';

/** The check that one plugin prepared for one decision. */
export interface NamedFilter {
  readonly plugin: string;
  readonly check: NodeFilter;
  readonly fork?: () => Fork;
  /** Pods with equal needs share the check. */
  readonly local: boolean;
  readonly asked: Asked;
}

export interface NodeRejection extends Rejection {
  readonly plugin: string;
}

export function firstRejection(
  filters: readonly Pick<NamedFilter, 'plugin' | 'check' | 'asked'>[],
  node: NodeInfo,
): NodeRejection | undefined {
  for (const { plugin, check, asked } of filters) {
    asked.filter++;
    const rejection = check(node);
    if (rejection !== undefined) return { plugin, reasons: rejection.reasons, resolvable: rejection.resolvable };
  }
  return undefined;
}
