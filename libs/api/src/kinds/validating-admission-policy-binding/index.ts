import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { setRuleDefaults } from '../../defaults/webhooks.ts';
import type { ParamRef, ValidatingAdmissionPolicyBinding } from '../../generated/types.ts';
import { VALIDATING_ADMISSION_POLICY_BINDINGS } from '../../refs.ts';
import {
  repeats,
  validateDnsSubdomain,
  validateRequiredText,
  validateRequiredWord,
  validateText,
} from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goStrings } from '../../validation/go-text.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { pathSegmentErrors } from '../../validation/rbac.ts';
import { validateMatchResources } from '../../validation/webhooks.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare, specChanged } from '../strategy.ts';

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
    ...checkedInSteps<ValidatingAdmissionPolicyBinding>(META, { whole: validateBinding, onUpdate: ['whole'] }),
    generationChanges: specChanged,
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
  if (match !== undefined) validateMatchResources(out, 'spec.matchResources', match);
  validateActions(out, spec.validationActions ?? []);
}

const EXCLUSIVE = 'name and selector are mutually exclusive';

function validateParamRef(out: FieldError[], path: string, ref: Readonly<ParamRef>): void {
  const { name = '', selector, parameterNotFoundAction: action } = ref;
  if (name !== '') validateText(out, `${path}.name`, name, pathSegmentErrors);
  if (name !== '' && selector !== undefined) out.push(forbidden(`${path}.name`, EXCLUSIVE));
  validateLabelSelector(out, `${path}.selector`, selector);
  if (name !== '' && selector !== undefined) out.push(forbidden(`${path}.selector`, EXCLUSIVE));
  if (name === '' && selector === undefined) out.push(required(path, 'one of name or selector must be specified'));
  validateRequiredWord(out, `${path}.parameterNotFoundAction`, action, ['Deny', 'Allow']);
}

function validateActions(out: FieldError[], actions: readonly string[]): void {
  const path = 'spec.validationActions';
  const isRepeated = repeats<string>();
  for (const [i, action] of actions.entries()) {
    if (!ACTIONS.includes(action)) out.push(notSupported(`${path}[${i}]`, action, ACTIONS));
    if (isRepeated(action)) out.push(duplicate(`${path}[${i}]`, action));
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
  if (actions.length === 0) out.push(required(path, 'at least one validation action is required'));
}
