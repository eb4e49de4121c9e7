import type { NodeSelectorTerm } from '../generated/types.ts';
import {
  AVOID_PODS_ANNOTATION,
  OLD_ARCH_LABEL,
  OLD_INSTANCE_TYPE_LABEL,
  OLD_OS_LABEL,
  OLD_REGION_LABEL,
  OLD_ZONE_LABEL,
} from '../semantics/well-known.ts';

/** Node labels that were renamed or lost their meaning. */
const DEPRECATED: Readonly<Record<string, string>> = {
  [OLD_ARCH_LABEL]: 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  [OLD_OS_LABEL]: 'deprecated since v1.14; use "kubernetes.io/os" instead',
  [OLD_REGION_LABEL]: 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  [OLD_ZONE_LABEL]: 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  [OLD_INSTANCE_TYPE_LABEL]: 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  [AVOID_PODS_ANNOTATION]: 'deprecated since v1.22; use Taints and Tolerations instead',
  'node-role.kubernetes.io/master': 'use "node-role.kubernetes.io/control-plane" instead',
};

export const deprecatedNodeLabel = (key: string): string | undefined =>
  Object.hasOwn(DEPRECATED, key) ? DEPRECATED[key] : undefined;

export function nodeSelectorTermWarnings(out: string[], path: string, term: Readonly<NodeSelectorTerm>): void {
  for (const [i, { key }] of (term.matchExpressions ?? []).entries()) {
    const deprecated = deprecatedNodeLabel(key);
    if (deprecated !== undefined) out.push(`${path}.matchExpressions[${i}].key: ${key} is ${deprecated}`);
  }
}
