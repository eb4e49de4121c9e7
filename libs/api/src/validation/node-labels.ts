import type { NodeSelectorTerm } from '../generated/types.ts';

/** Labels of nodes that go under another name by now, or mean nothing any more. */
const DEPRECATED: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  'beta.kubernetes.io/os': 'deprecated since v1.14; use "kubernetes.io/os" instead',
  'failure-domain.beta.kubernetes.io/region': 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  'failure-domain.beta.kubernetes.io/zone': 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  'beta.kubernetes.io/instance-type': 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  'app.kubernetes.io/created-by': 'deprecated since v1.9',
  'scheduler.alpha.kubernetes.io/preferAvoidPods': 'deprecated since v1.22; use Taints and Tolerations instead',
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
