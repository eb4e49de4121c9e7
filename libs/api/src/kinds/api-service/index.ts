import { type FieldError, invalid, required } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { APIService } from '../../generated/types.ts';
import { API_SERVICES } from '../../refs.ts';
import { validateDnsSubdomain, validateText } from '../../validation/check.ts';
import { dns1035LabelErrors, portNumberErrors } from '../../validation/formats.ts';
import { pathSegmentErrors } from '../../validation/rbac.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { keepStatus, statusOnly } from '../strategy.ts';

const META = { namespaced: false, name: pathSegmentErrors, standardFinalizers: false } as const;
const GROUP_PRIORITY_MAX = 20_000;
const VERSION_PRIORITY_MAX = 1_000;

const checks = checked<APIService>(META, (out, service) => validateService(out, service));

export const apiServiceResource = defineResource(API_SERVICES, {
  setDefaults: (service) => {
    setDefault(service, 'spec', { groupPriorityMinimum: 0, versionPriority: 0 });
    setDefault(service, 'status', {});
    if (service.spec.service !== undefined) setDefault(service.spec.service, 'port', 443);
  },
  strategy: {
    prepareForCreate: (service) => {
      service.status = {};
    },
    prepareForUpdate: keepStatus,
    ...checks,
    allowUnconditionalUpdate: false,
  },
  status: statusOnly(checks.validateUpdate),
  columns: [
    nameColumn,
    textColumn('Service', 'Who serves the group', ({ spec }) =>
      spec.service === undefined ? 'Local' : `${spec.service.namespace ?? ''}/${spec.service.name ?? ''}`,
    ),
    textColumn('Available', 'Whether it answers', availableText),
    ageColumn,
  ],
});

function availableText({ status }: Readonly<APIService>): string {
  const condition = status.conditions?.find(({ type }) => type === 'Available');
  if (condition === undefined) return 'Unknown';
  return condition.status === 'True' || !condition.reason
    ? condition.status
    : `${condition.status} (${condition.reason})`;
}

function validateService(out: FieldError[], { metadata, spec }: Readonly<APIService>): void {
  const { group = '', version = '' } = spec;
  const expected = `${version}.${group}`;
  if (metadata.name !== expected) {
    out.push(invalid('metadata.name', metadata.name ?? '', '`spec.version+"."+spec.group`'));
  }
  if (group !== '') validateDnsSubdomain(out, 'spec.group', group);
  validateText(out, 'spec.version', version, dns1035LabelErrors);
  validatePriority(out, 'spec.groupPriorityMinimum', spec.groupPriorityMinimum ?? 0, GROUP_PRIORITY_MAX);
  validatePriority(out, 'spec.versionPriority', spec.versionPriority ?? 0, VERSION_PRIORITY_MAX);
  if (spec.service === undefined) {
    if (spec.caBundle) out.push(invalid('spec.caBundle', '', 'local APIServices may not have a caBundle'));
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
