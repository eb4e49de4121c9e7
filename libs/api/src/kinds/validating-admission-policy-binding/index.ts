import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { setRuleDefaults } from '../../defaults/webhooks.ts';
import type { ParamRef, ValidatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { VALIDATING_ADMISSION_POLICY_BINDINGS } from '../../refs.ts';
import { validateDnsSubdomain, validateRequiredText, validateText } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goStrings } from '../../validation/go-text.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { pathSegmentErrors } from '../../validation/rbac.ts';
import { validateRules } from '../../validation/webhooks.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare, specChanged, warnAtCreate } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors, standardFinalizers: false } as const;
const ACTIONS = ['Audit', 'Deny', 'Warn'];

export const validatingAdmissionPolicyBindingResource = defineResource(VALIDATING_ADMISSION_POLICY_BINDINGS, {
  setDefaults: (binding) => {
    setDefault(binding, 'spec', {});
    const match = binding.spec.matchResources;
    if (match === undefined) return;
    setDefault(match, 'matchPolicy', 'Equivalent');
    setDefault(match, 'namespaceSelector', {});
    setDefault(match, 'objectSelector', {});
    setRuleDefaults(match.resourceRules);
    setRuleDefaults(match.excludeResourceRules);
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checked<ValidatingAdmissionPolicyBinding>(META, validateBinding),
    generationChanges: specChanged,
    warnings: warnAtCreate('this API server evaluates no admission policies yet: the object is kept and has no effect'),
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    textColumn('PolicyName', 'The policy that is bound', ({ spec }) => spec.policyName ?? ''),
    textColumn('ParamRef', 'What configures it here', ({ spec }) => paramText(spec.paramRef)),
    ageColumn,
  ],
});

function paramText(ref: Readonly<ParamRef> | undefined): string {
  if (ref === undefined) return '<unset>';
  if (ref.name === undefined) return '*';
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

function validateBinding(out: FieldError[], { spec }: Readonly<ValidatingAdmissionPolicyBinding>): void {
  if (validateRequiredText(out, 'spec.policyName', spec.policyName)) {
    validateDnsSubdomain(out, 'spec.policyName', spec.policyName ?? '');
  }
  if (spec.paramRef !== undefined) validateParamRef(out, 'spec.paramRef', spec.paramRef);
  const match = spec.matchResources;
  if (match !== undefined) {
    validateLabelSelector(out, 'spec.matchResources.namespaceSelector', match.namespaceSelector);
    validateLabelSelector(out, 'spec.matchResources.objectSelector', match.objectSelector);
    validateRules(out, 'spec.matchResources.resourceRules', match.resourceRules ?? []);
    validateRules(out, 'spec.matchResources.excludeResourceRules', match.excludeResourceRules ?? []);
  }
  validateActions(out, spec.validationActions ?? []);
}

function validateParamRef(out: FieldError[], path: string, ref: Readonly<ParamRef>): void {
  if (ref.name) {
    validateText(out, `${path}.name`, ref.name, pathSegmentErrors);
    if (ref.selector !== undefined) out.push(forbidden(`${path}.name`, 'name and selector are mutually exclusive'));
  } else if (ref.selector !== undefined) validateLabelSelector(out, `${path}.selector`, ref.selector);
  else out.push(required(path, 'one of name or selector must be specified'));
  if (ref.parameterNotFoundAction === undefined) out.push(required(`${path}.parameterNotFoundAction`));
  else if (!['Allow', 'Deny'].includes(ref.parameterNotFoundAction)) {
    out.push(notSupported(`${path}.parameterNotFoundAction`, ref.parameterNotFoundAction, ['Deny', 'Allow']));
  }
}

function validateActions(out: FieldError[], actions: readonly string[]): void {
  const path = 'spec.validationActions';
  if (actions.length === 0) out.push(required(path, 'at least one validation action is required'));
  for (const [i, action] of actions.entries()) {
    if (!ACTIONS.includes(action)) out.push(notSupported(`${path}[${i}]`, action, ACTIONS));
    if (actions.indexOf(action) < i) out.push(duplicate(`${path}[${i}]`, action));
  }
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const shown = goStrings(actions, 'admissionregistration.ValidationAction');
    out.push(
      invalid(
        path,
        shown,
        'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ),
    );
  }
}
