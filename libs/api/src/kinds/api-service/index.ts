import { type FieldError, invalid, required } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { APIService, APIServiceCondition } from '../../generated/types.ts';
import { API_SERVICES } from '../../refs.ts';
import { LOCAL_AVAILABILITY } from '../../semantics/api-services.ts';
import { validateDnsSubdomain, validateText, validateWord } from '../../validation/check.ts';
import { base64Length, type Check, dns1035LabelErrors, portNumberErrors } from '../../validation/formats.ts';
import { type MetaRules, validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { pathSegmentErrors } from '../../validation/rbac.ts';
import { defineResource } from '../define.ts';
import { keepStatus, statusAlone } from '../strategy.ts';

const GROUP_PRIORITY_MAX = 20_000;
const VERSION_PRIORITY_MAX = 1_000;

/** The spec determines the name. */
const metaOf = ({ spec }: Readonly<APIService>): MetaRules => {
  const expected = `${spec.version ?? ''}.${spec.group ?? ''}`;
  const name: Check = (given) => {
    const errors = pathSegmentErrors(given);
    if (errors.length > 0 || given === expected) return errors;
    return [`must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`];
  };
  return { namespaced: false, name, standardFinalizers: false };
};

function wholeErrors(service: Readonly<APIService>): FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, service.metadata, metaOf(service));
  validateService(out, service);
  return out;
}

export const apiServiceResource = defineResource(API_SERVICES, {
  setDefaults: (service) => {
    setDefault(service, 'spec', { groupPriorityMinimum: 0, versionPriority: 0 });
    setDefault(service, 'status', {});
    if (service.spec.service !== undefined) setDefault(service.spec.service, 'port', 443);
  },
  strategy: {
    prepareForCreate: (service, { now }) => {
      service.status = service.spec.service === undefined ? { conditions: [alwaysAvailable(now)] } : {};
    },
    prepareForUpdate: keepStatus,
    validateCreate: wholeErrors,
    validateUpdate: (service, old) => {
      const out: FieldError[] = [];
      validateObjectMetaUpdate(out, service.metadata, old.metadata, { standardFinalizers: false });
      return [...out, ...wholeErrors(service)];
    },
    allowUnconditionalUpdate: false,
  },
  status: statusAlone(validateStatusUpdate),
  columns: [
    nameColumn,
    textColumn('Service', 'Who serves the group', ({ spec }) =>
      spec.service === undefined ? 'Local' : `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}`,
    ),
    textColumn('Available', 'Whether it answers', availableText),
    ageColumn,
  ],
});

/** A local API needs no availability check. */
const alwaysAvailable = (now: number): APIServiceCondition => ({
  type: 'Available',
  ...LOCAL_AVAILABILITY,
  lastTransitionTime: formatTime(now),
});

function availableText({ status }: Readonly<APIService>): string {
  const condition = status.conditions?.find(({ type }) => type === 'Available');
  if (condition === undefined) return 'Unknown';
  return condition.status === 'True' || !condition.reason
    ? condition.status
    : `${condition.status} (${condition.reason})`;
}

function validateStatusUpdate(service: Readonly<APIService>, old: Readonly<APIService>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, service.metadata, old.metadata, { standardFinalizers: false });
  for (const [i, { status }] of (service.status.conditions ?? []).entries()) {
    validateWord(out, `status.conditions[${i}].status`, status ?? '', ['True', 'False', 'Unknown']);
  }
  return out;
}

function validateService(out: FieldError[], { spec }: Readonly<APIService>): void {
  const { group = '', version = '' } = spec;
  if (group === '' && version !== 'v1') {
    out.push(required('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  }
  if (group !== '') validateDnsSubdomain(out, 'spec.group', group);
  validateText(out, 'spec.version', version, dns1035LabelErrors);
  validatePriority(out, 'spec.groupPriorityMinimum', spec.groupPriorityMinimum ?? 0, GROUP_PRIORITY_MAX);
  validatePriority(out, 'spec.versionPriority', spec.versionPriority ?? 0, VERSION_PRIORITY_MAX);
  if (spec.service === undefined) {
    const bytes = base64Length(spec.caBundle ?? '');
    if (bytes > 0) out.push(invalid('spec.caBundle', `${bytes} bytes`, 'local APIServices may not have a caBundle'));
    if (spec.insecureSkipTLSVerify === true) {
      out.push(invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify'));
    }
    return;
  }
  const { namespace, name, port } = spec.service;
  if (!namespace) out.push(required('spec.service.namespace'));
  if (!name) out.push(required('spec.service.name'));
  if (portNumberErrors(port ?? 443).length > 0) {
    out.push(invalid('spec.service.port', port, 'port is not valid: must be between 1 and 65535, inclusive'));
  }
  if (spec.insecureSkipTLSVerify === true && spec.caBundle) {
    out.push(invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'));
  }
}

function validatePriority(out: FieldError[], path: string, value: number, max: number): void {
  if (value <= 0 || value > max) out.push(invalid(path, value, `must be positive and less than ${max}`));
}
