import type { NodeSelectorRequirement, NodeSelectorTerm } from '@holdfast/api';

export interface SelectableNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** One of the terms has to match; a term without any requirement matches nothing. */
export function meetsAnyTerm(terms: readonly NodeSelectorTerm[], node: SelectableNode): boolean {
  return terms.some((term) => meetsTerm(term, node));
}

function meetsTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: SelectableNode): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => meets(requirement, node.labels[requirement.key])) &&
    matchFields.every((field) => field.key === 'metadata.name' && meets(field, node.name))
  );
}

function meets({ operator, values = [] }: NodeSelectorRequirement, found: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return found !== undefined && values.includes(found);
    case 'NotIn':
      return found === undefined || !values.includes(found);
    case 'Exists':
      return found !== undefined;
    case 'DoesNotExist':
      return found === undefined;
    case 'Gt':
      return found !== undefined && Number(found) > Number(values[0]);
    case 'Lt':
      return found !== undefined && Number(found) < Number(values[0]);
    default:
      return false;
  }
}
