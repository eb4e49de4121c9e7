import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from '@holdfast/api';
import {
  compileLabelMap,
  compileRequirements,
  createRequirement,
  type LabelSelectorMatcher,
  SelectorError,
  type SelectorOperator,
} from '@holdfast/machinery';
import type { NodeInfo } from './node-info.ts';

export type NodeTest = (node: Pick<NodeInfo, 'name' | 'labels'>) => boolean;

/** `nodeSelector` and required node affinity together; `undefined` when the pod asks for neither. */
export function compileRequiredNodes(pod: Pick<Pod, 'spec'>): NodeTest | undefined {
  const selector = pod.spec.nodeSelector;
  const labels = selector === undefined || Object.keys(selector).length === 0 ? undefined : compileLabelMap(selector);
  const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (labels === undefined && terms === undefined) return undefined;
  const matchesTerms = terms === undefined ? undefined : compileTerms(terms);
  return (node) =>
    (labels === undefined || labels.matches(node.labels)) && (matchesTerms === undefined || matchesTerms(node));
}

/** One of the terms has to match. */
export function compileTerms(terms: readonly NodeSelectorTerm[]): NodeTest {
  const tests = terms.map(compileTerm);
  return (node) => tests.some((matches) => matches(node));
}

/** A term without any requirement matches nothing. */
export function compileTerm(term: NodeSelectorTerm): NodeTest {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return () => false;
  const byLabels = compile(expressions);
  const byFields = compile(fields);
  return (node) => byLabels.matches(node.labels) && byFields.matches({ 'metadata.name': node.name });
}

const OPERATORS: ReadonlyMap<string, SelectorOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
  ['Gt', 'gt'],
  ['Lt', 'lt'],
]);

const NO_NODE: Pick<LabelSelectorMatcher, 'matches'> = { matches: () => false };

/** A requirement that cannot be understood matches no node: validation has let it pass, so the pod waits visibly. */
function compile(requirements: readonly NodeSelectorRequirement[]): Pick<LabelSelectorMatcher, 'matches'> {
  try {
    const compiled = requirements.map(({ key, operator, values }) => {
      const known = OPERATORS.get(operator);
      if (known === undefined) throw new SelectorError(`${operator} is not an operator of node selectors`);
      return createRequirement(key, known, values ?? []);
    });
    return compileRequirements(compiled);
  } catch (error) {
    if (error instanceof SelectorError) return NO_NODE;
    throw error;
  }
}
