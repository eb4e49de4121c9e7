import { compareQuantities, parseQuantity } from '@holdfast/machinery';
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
    warnings: quotaWarnings,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateResourceQuotaStatusUpdate),
  columns: [
    nameColumn,
    textColumn('Request', 'What is used of what may be requested', (quota) => usageText(quota, false)),
    textColumn('Limit', 'What is used of what may be the limit', (quota) => usageText(quota, true)),
    ageColumn,
  ],
});

/** A quota that lets more be requested than be used; told once. */
function quotaWarnings({ spec }: Readonly<ResourceQuota>, old: Readonly<ResourceQuota> | undefined): readonly string[] {
  if (old !== undefined) return [];
  const hard = spec.hard ?? {};
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((name) => {
    const asked = [`requests.${name}`, ...(name === 'cpu' || name === 'memory' ? [name] : [])];
    const request = asked.find((key) => hard[key] !== undefined);
    const limit = hard[`limits.${name}`];
    const most = request === undefined ? undefined : hard[request];
    if (most === undefined || limit === undefined) return [];
    if (compareQuantities(parseQuantity(most), parseQuantity(limit)) <= 0) return [];
    return [`ResourceQuota ${request} (${most}) should be less than limits.${name} (${limit})`];
  });
}

function usageText({ status }: Readonly<ResourceQuota>, limits: boolean): string {
  return Object.keys(status.hard ?? {})
    .filter((name) => name.startsWith('limits.') === limits)
    .sort()
    .map((name) => `${name}: ${status.used?.[name] ?? '0'}/${status.hard?.[name] ?? '0'}`)
    .join(', ');
}
