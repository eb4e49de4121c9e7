import {
  compileRequirements,
  createRequirement,
  type LabelSelectorMatcher,
  type Requirement,
  SelectorError,
  type SelectorOperator,
} from '@holdfast/machinery';
import type { NodeSelectorRequirement, NodeSelectorTerm } from './generated/types.ts';

/** The parts of a node that terms read. */
export interface SelectableNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export type NodeTest = (node: SelectableNode) => boolean;

/** Compiles terms of which one must match. The scheduler, the DaemonSet controller and the kubelet share it. */
export function compileNodeTerms(terms: readonly NodeSelectorTerm[]): NodeTest {
  const tests = terms.map(compileNodeTerm);
  return (node) => tests.some((matches) => matches(node));
}

/** A term without requirements matches nothing. */
export function compileNodeTerm(term: NodeSelectorTerm): NodeTest {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length === 0 && fields.length === 0) return () => false;
  const byLabels = compile(expressions, ofLabel);
  const byFields = compile(fields, ofField);
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

function ofLabel({ key, operator, values }: NodeSelectorRequirement): Requirement {
  const known = OPERATORS.get(operator);
  if (known === undefined) throw new SelectorError(`${operator} is not an operator of node selectors`);
  return createRequirement(key, known, values ?? []);
}

/** Node names may be longer than label values. */
function ofField({ key, operator, values = [] }: NodeSelectorRequirement): Requirement {
  const known = OPERATORS.get(operator);
  if ((known !== 'in' && known !== 'notin') || values.length !== 1) {
    throw new SelectorError('a field requirement takes the operator In or NotIn and exactly one value');
  }
  return { key, operator: known, values };
}

const NO_NODE: Pick<LabelSelectorMatcher, 'matches'> = { matches: () => false };

/** An invalid requirement matches no node: validation accepted it, so the pod stays visibly pending. */
function compile(
  requirements: readonly NodeSelectorRequirement[],
  read: (requirement: NodeSelectorRequirement) => Requirement,
): Pick<LabelSelectorMatcher, 'matches'> {
  try {
    return compileRequirements(requirements.map(read));
  } catch (error) {
    if (error instanceof SelectorError) return NO_NODE;
    throw error;
  }
}
