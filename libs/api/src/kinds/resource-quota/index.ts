import { ownValue } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setResourceListDefaults } from '../../defaults/resources.ts';
import { setDefault } from '../../defaults/set.ts';
import type { ResourceQuota } from '../../generated/types.ts';
import { RESOURCE_QUOTAS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepStatus, statusOnly } from '../strategy.ts';
import { resourceQuotaChecks, validateResourceQuotaStatusUpdate } from './validation.ts';

export const resourceQuotaResource = defineResource(RESOURCE_QUOTAS, {
  setDefaults: (quota) => {
    setDefault(quota, 'spec', {});
    setDefault(quota, 'status', {});
    setResourceListDefaults(quota.spec.hard);
    setResourceListDefaults(quota.status.hard);
    setResourceListDefaults(quota.status.used);
  },
  strategy: {
    prepareForCreate: (quota) => {
      quota.status = {};
    },
    prepareForUpdate: keepStatus,
    ...resourceQuotaChecks,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateResourceQuotaStatusUpdate),
  columns: [
    nameColumn,
    ageColumn,
    textColumn('Request', 'What is used of what may be requested', (quota) => usageText(quota, false)),
    textColumn('Limit', 'What is used of what may be the limit', (quota) => usageText(quota, true)),
  ],
});

function usageText({ status }: Readonly<ResourceQuota>, limits: boolean): string {
  return Object.keys(status.hard ?? {})
    .filter((name) => name.startsWith('limits.') === limits)
    .sort()
    .map((name) => `${name}: ${ownValue(status.used, name) ?? '0'}/${ownValue(status.hard, name) ?? '0'}`)
    .join(', ');
}
