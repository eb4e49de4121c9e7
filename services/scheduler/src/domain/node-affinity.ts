import { compileNodeTerms, type NodeTest, type Pod } from '@holdfast/api';
import { compileLabelMap } from '@holdfast/machinery';

/** `nodeSelector` and required node affinity together; `undefined` when the pod asks for neither. */
export function compileRequiredNodes(pod: Pick<Pod, 'spec'>): NodeTest | undefined {
  const selector = pod.spec.nodeSelector;
  const labels = selector === undefined || Object.keys(selector).length === 0 ? undefined : compileLabelMap(selector);
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (labels === undefined && terms === undefined) return undefined;
  const matchesTerms = terms === undefined ? undefined : compileNodeTerms(terms);
  return (node) =>
    (labels === undefined || labels.matches(node.labels)) && (matchesTerms === undefined || matchesTerms(node));
}
