import { type FieldError, invalid, required } from '@holdfast/machinery';
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from '../../generated/types.ts';
import { validateText } from '../check.ts';
import { dnsSubdomainErrors } from '../formats.ts';
import { refuseOperator, validateLabelName, validateOperator } from '../labels.ts';

export function validateNodeSelector(out: FieldError[], path: string, selector: Readonly<NodeSelector>): void {
  const at = `${path}.nodeSelectorTerms`;
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) out.push(required(at, 'must have at least one node selector term'));
  for (const [i, term] of terms.entries()) validateNodeSelectorTerm(out, `${at}[${i}]`, term);
}

/** A term may contain values that no label can have; it never matches. */
export function validateNodeSelectorTerm(out: FieldError[], path: string, term: Readonly<NodeSelectorTerm>): void {
  for (const [i, requirement] of (term.matchExpressions ?? []).entries()) {
    validateExpression(out, `${path}.matchExpressions[${i}]`, requirement);
  }
  for (const [i, requirement] of (term.matchFields ?? []).entries()) {
    validateField(out, `${path}.matchFields[${i}]`, requirement);
  }
}

function validateExpression(out: FieldError[], path: string, requirement: Readonly<NodeSelectorRequirement>): void {
  const values = requirement.values ?? [];
  if (requirement.operator === 'Gt' || requirement.operator === 'Lt') {
    if (values.length !== 1) {
      out.push(required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'"));
    }
  } else if (!validateOperator(out, path, requirement)) {
    refuseOperator(out, path, requirement.operator);
  }
  validateLabelName(out, `${path}.key`, requirement.key ?? '');
}

function validateField(out: FieldError[], path: string, requirement: Readonly<NodeSelectorRequirement>): void {
  const values = requirement.values ?? [];
  if (requirement.operator !== 'In' && requirement.operator !== 'NotIn') {
    refuseOperator(out, path, requirement.operator);
  } else if (values.length !== 1) {
    const detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
    out.push(required(`${path}.values`, detail));
  }
  if (requirement.key !== 'metadata.name') {
    out.push(invalid(`${path}.key`, requirement.key ?? '', 'not a valid field selector key'));
    return;
  }
  for (const [i, value] of values.entries()) validateText(out, `${path}.values[${i}]`, value, dnsSubdomainErrors);
}
