import { compileLabelMap } from '@holdfast/machinery';
import type { PodSpec } from '../generated/types.ts';
import { compileNodeTerms, type NodeTest } from '../node-terms.ts';

/** Combines `nodeSelector` and required node affinity; `undefined` when the pod has neither. */
export function compileRequiredNodes({
  spec,
}: {
  readonly spec: Pick<PodSpec, 'nodeSelector' | 'affinity'>;
}): NodeTest | undefined {
  const selector = spec.nodeSelector;
  const labels = selector === undefined || Object.keys(selector).length === 0 ? undefined : compileLabelMap(selector);
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (labels === undefined && terms === undefined) return undefined;
  const matchesTerms = terms === undefined ? undefined : compileNodeTerms(terms);
  return (node) =>
    (labels === undefined || labels.matches(node.labels)) && (matchesTerms === undefined || matchesTerms(node));
}
