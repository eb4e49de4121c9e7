import { ageColumn, integerColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { setRuleDefaults } from '../../defaults/webhooks.ts';
import type { ValidatingAdmissionPolicy } from '../../generated/types.ts';
import { VALIDATING_ADMISSION_POLICIES } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { keepStatus, specChanged, statusAlone } from '../strategy.ts';
import { validatePolicy, validatePolicyStatus } from './validation.ts';

const META = { namespaced: false, name: dnsSubdomainErrors, standardFinalizers: false } as const;

const checks = checkedInSteps<ValidatingAdmissionPolicy>(META, { whole: validatePolicy, onUpdate: ['whole'] });

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
    allowUnconditionalUpdate: false,
  },
  status: statusAlone(validatePolicyStatus),
  columns: [
    nameColumn,
    integerColumn('Validations', 'How many expressions must hold', ({ spec }) => spec.validations?.length ?? 0),
    textColumn('ParamKind', 'What configures the policy', ({ spec }) =>
      spec.paramKind === undefined ? '<unset>' : `${spec.paramKind.apiVersion ?? ''}/${spec.paramKind.kind ?? ''}`,
    ),
    ageColumn,
  ],
});
