import { type FieldError, invalid, required } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { setRuleDefaults } from '../../defaults/webhooks.ts';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicySpec, Validation } from '../../generated/types.ts';
import { VALIDATING_ADMISSION_POLICIES } from '../../refs.ts';
import { validateRequiredText, validateText, validateWord } from '../../validation/check.ts';
import { cIdentifierErrors, dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { validateMatchConditions, validateRules } from '../../validation/webhooks.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusOnly, warnAtCreate } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors, standardFinalizers: false } as const;
const REASONS = ['Forbidden', 'Invalid', 'RequestEntityTooLarge', 'Unauthorized'];

const checks = checked<ValidatingAdmissionPolicy>(META, (out, { spec }) => validateSpec(out, spec));

export const validatingAdmissionPolicyResource = defineResource(VALIDATING_ADMISSION_POLICIES, {
  setDefaults: (policy) => {
    setDefault(policy, 'spec', {});
    setDefault(policy, 'status', {});
    const { spec } = policy;
    setDefault(spec, 'failurePolicy', 'Fail');
    if (spec.matchConstraints === undefined) return;
    setDefault(spec.matchConstraints, 'matchPolicy', 'Equivalent');
    setDefault(spec.matchConstraints, 'namespaceSelector', {});
    setDefault(spec.matchConstraints, 'objectSelector', {});
    setRuleDefaults(spec.matchConstraints.resourceRules);
    setRuleDefaults(spec.matchConstraints.excludeResourceRules);
  },
  strategy: {
    prepareForCreate: (policy) => {
      policy.status = {};
    },
    prepareForUpdate: keepStatus,
    ...checks,
    generationChanges: specChanged,
    warnings: warnAtCreate('this API server evaluates no admission policies yet: the object is kept and has no effect'),
    allowUnconditionalUpdate: false,
  },
  status: statusOnly(checks.validateUpdate),
  columns: [
    nameColumn,
    integerColumn('Validations', 'How many expressions must hold', ({ spec }) => spec.validations?.length ?? 0),
    textColumn('ParamKind', 'What configures the policy', ({ spec }) =>
      spec.paramKind === undefined ? '<unset>' : `${spec.paramKind.apiVersion ?? ''}/${spec.paramKind.kind ?? ''}`,
    ),
    ageColumn,
  ],
});

function validateSpec(out: FieldError[], spec: Readonly<ValidatingAdmissionPolicySpec>): void {
  validateWord(out, 'spec.failurePolicy', spec.failurePolicy, ['Fail', 'Ignore']);
  if (spec.paramKind !== undefined) {
    validateRequiredText(out, 'spec.paramKind.apiVersion', spec.paramKind.apiVersion);
    validateRequiredText(out, 'spec.paramKind.kind', spec.paramKind.kind);
  }
  validateMatchConditions(out, 'spec.matchConditions', spec.matchConditions ?? []);
  const { matchConstraints } = spec;
  if (matchConstraints === undefined) out.push(required('spec.matchConstraints'));
  else {
    const path = 'spec.matchConstraints';
    validateLabelSelector(out, `${path}.namespaceSelector`, matchConstraints.namespaceSelector);
    validateLabelSelector(out, `${path}.objectSelector`, matchConstraints.objectSelector);
    validateRules(out, `${path}.resourceRules`, matchConstraints.resourceRules ?? []);
    validateRules(out, `${path}.excludeResourceRules`, matchConstraints.excludeResourceRules ?? []);
    if ((matchConstraints.resourceRules ?? []).length === 0) out.push(required(`${path}.resourceRules`));
  }
  for (const [i, { name, expression }] of (spec.variables ?? []).entries()) {
    if (validateRequiredText(out, `spec.variables[${i}].name`, name, 'name is required')) {
      validateText(out, `spec.variables[${i}].name`, name, cIdentifierErrors);
    }
    validateRequiredText(out, `spec.variables[${i}].expression`, expression?.trim(), 'expression is required');
  }
  validateExpressions(out, spec);
}

function validateExpressions(out: FieldError[], spec: Readonly<ValidatingAdmissionPolicySpec>): void {
  const { validations = [], auditAnnotations = [] } = spec;
  if (validations.length === 0 && auditAnnotations.length === 0) {
    out.push(required('spec.validations', 'validations or auditAnnotations must contain at least one item'));
    out.push(required('spec.auditAnnotations', 'validations or auditAnnotations must contain at least one item'));
  }
  for (const [i, validation] of validations.entries()) validateExpression(out, `spec.validations[${i}]`, validation);
  for (const [i, { key, valueExpression }] of auditAnnotations.entries()) {
    validateRequiredText(out, `spec.auditAnnotations[${i}].key`, key);
    validateRequiredText(out, `spec.auditAnnotations[${i}].valueExpression`, valueExpression?.trim());
  }
}

function validateExpression(out: FieldError[], path: string, validation: Readonly<Validation>): void {
  validateRequiredText(out, `${path}.expression`, validation.expression?.trim(), 'expression is not specified');
  const { message, reason } = validation;
  if (message !== undefined && message !== '' && message.trim() === '') {
    out.push(invalid(`${path}.message`, message, 'message must be non-empty if specified'));
  } else if (message?.trim().includes('\n') === true) {
    out.push(invalid(`${path}.message`, message, 'message must not contain line breaks'));
  }
  validateWord(out, `${path}.reason`, reason, REASONS);
}
