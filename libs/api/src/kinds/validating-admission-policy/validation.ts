import { duplicate, type FieldError, invalid, required } from '@holdfast/machinery';
import type {
  AuditAnnotation,
  ParamKind,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicySpec,
  Validation,
  Variable,
} from '../../generated/types.ts';
import { validateQualifiedName, validateRequiredText, validateWord } from '../../validation/check.ts';
import { validateConditions } from '../../validation/conditions.ts';
import { byteLength, dns1035LabelErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateMatchConditions, validateMatchResources } from '../../validation/webhooks.ts';

const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge'];
const AUDIT_EXPRESSION_BYTES_MAX = 5 * 1024;

export function validatePolicy(out: FieldError[], { metadata, spec }: Readonly<ValidatingAdmissionPolicy>): void {
  validateWord(out, 'spec.failurePolicy', spec.failurePolicy, ['Fail', 'Ignore']);
  if (spec.paramKind !== undefined) validateParamKind(out, 'spec.paramKind', spec.paramKind);
  const match = spec.matchConstraints;
  if (match === undefined) out.push(required('spec.matchConstraints'));
  else {
    validateMatchResources(out, 'spec.matchConstraints', match);
    if ((match.resourceRules ?? []).length === 0) out.push(required('spec.matchConstraints.resourceRules'));
  }
  validateMatchConditions(out, 'spec.matchConditions', spec.matchConditions ?? []);
  for (const [i, variable] of (spec.variables ?? []).entries()) {
    validateVariable(out, `spec.variables[${i}]`, variable);
  }
  validateExpressions(out, spec, metadata.name ?? '');
}

function validateParamKind(out: FieldError[], path: string, { apiVersion = '', kind = '' }: Readonly<ParamKind>): void {
  if (validateRequiredText(out, `${path}.apiVersion`, apiVersion)) {
    validateApiVersion(out, `${path}.apiVersion`, apiVersion);
  }
  if (!validateRequiredText(out, `${path}.kind`, kind)) return;
  const errors = dns1035LabelErrors(kind.toLowerCase());
  if (errors.length === 0) return;
  out.push(invalid(`${path}.kind`, kind, `may have mixed case, but should otherwise match: ${errors.join(',')}`));
}

function validateApiVersion(out: FieldError[], path: string, apiVersion: string): void {
  const parts = apiVersion.split('/');
  if (parts.length > 2) {
    out.push(invalid(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
    return;
  }
  const group = parts.length === 2 ? (parts[0] ?? '') : '';
  const version = parts.at(-1) ?? '';
  const groupErrors = group === '' ? [] : dnsSubdomainErrors(group);
  if (groupErrors.length > 0) out.push(invalid(path, group, groupErrors.join(',')));
  if (version === '') out.push(invalid(path, apiVersion, 'version must be specified'));
  else {
    const errors = dns1035LabelErrors(version);
    if (errors.length > 0) out.push(invalid(path, version, errors.join(',')));
  }
}

const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !RESERVED.has(name);

function validateVariable(out: FieldError[], path: string, variable: Readonly<Variable>): void {
  const name = variable.name ?? '';
  if (validateRequiredText(out, `${path}.name`, name.trim(), 'name is not specified') && !isIdentifier(name)) {
    out.push(invalid(`${path}.name`, name, 'name is not a valid CEL identifier'));
  }
  validateRequiredText(out, `${path}.expression`, variable.expression?.trim(), 'expression is not specified');
}

function validateExpressions(out: FieldError[], spec: Readonly<ValidatingAdmissionPolicySpec>, name: string): void {
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item';
    out.push(required('spec.validations', detail), required('spec.auditAnnotations', detail));
    return;
  }
  for (const [i, validation] of validations.entries()) validateExpression(out, `spec.validations[${i}]`, validation);
  const keys = new Set<string>();
  for (const [i, annotation] of auditAnnotations.entries()) {
    const path = `spec.auditAnnotations[${i}]`;
    validateAuditAnnotation(out, path, annotation, name);
    if (keys.has(annotation.key)) out.push(duplicate(`${path}.key`, annotation.key));
    keys.add(annotation.key);
  }
}

function validateExpression(out: FieldError[], path: string, validation: Readonly<Validation>): void {
  validateRequiredText(out, `${path}.expression`, validation.expression?.trim(), 'expression is not specified');
  const { message = '', messageExpression = '', reason } = validation;
  if (messageExpression !== '' && messageExpression.trim() === '') {
    out.push(invalid(`${path}.messageExpression`, messageExpression, 'must be non-empty if specified'));
  }
  if (message !== '' && message.trim() === '') {
    out.push(invalid(`${path}.message`, message, 'message must be non-empty if specified'));
  } else if (/[\n\r]/.test(message.trim())) {
    out.push(invalid(`${path}.message`, message, 'message must not contain line breaks'));
  }
  validateWord(out, `${path}.reason`, reason, REASONS);
}

function validateAuditAnnotation(
  out: FieldError[],
  path: string,
  { key, valueExpression }: Readonly<AuditAnnotation>,
  policy: string,
): void {
  if (policy === '') out.push(invalid(`${path}.key`, key ?? '', 'requires metadata.name be non-empty'));
  else validateQualifiedName(out, `${path}.key`, `${policy}/${key ?? ''}`);
  const expression = valueExpression?.trim() ?? '';
  const at = `${path}.valueExpression`;
  if (expression === '') out.push(required(at, 'valueExpression is not specified'));
  else if (byteLength(expression) > AUDIT_EXPRESSION_BYTES_MAX) {
    out.push(required(at, `must not exceed ${AUDIT_EXPRESSION_BYTES_MAX} bytes in length`));
  }
}

export function validatePolicyStatus({ status }: Readonly<ValidatingAdmissionPolicy>): readonly FieldError[] {
  const out: FieldError[] = [];
  for (const [i, { warning, fieldRef }] of (status.typeChecking?.expressionWarnings ?? []).entries()) {
    const path = `status.typeChecking.expressionWarnings[${i}]`;
    validateRequiredText(out, `${path}.warning`, warning);
    validateRequiredText(out, `${path}.fieldRef`, fieldRef?.trim());
  }
  validateConditions(out, 'status.conditions', status.conditions);
  return out;
}
