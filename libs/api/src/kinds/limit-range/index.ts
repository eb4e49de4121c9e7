import { createdAtColumn, nameColumn } from '../../columns/columns.ts';
import { setResourceListDefaults } from '../../defaults/resources.ts';
import { setDefault } from '../../defaults/set.ts';
import type { LimitRange, LimitRangeItem } from '../../generated/types.ts';
import { LIMIT_RANGES } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';
import { validateLimitRange } from './validation.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const limitRangeResource = defineResource(LIMIT_RANGES, {
  setDefaults: (range) => {
    setDefault(range, 'spec', { limits: [] });
    if ((range.spec.limits ?? []).length === 0) Object.assign(range.spec, { limits: null });
    for (const item of range.spec.limits ?? []) setItemDefaults(item);
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<LimitRange>(META, { whole: validateLimitRange, onUpdate: ['whole'] }),
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  columns: [nameColumn, createdAtColumn],
});

/** The default limit is the maximum, and the default request is the default limit. */
function setItemDefaults(item: LimitRangeItem): void {
  for (const list of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio]) {
    setResourceListDefaults(list);
  }
  if (item.type !== 'Container') return;
  const limits = { ...item.default };
  const requests = { ...item.defaultRequest };
  for (const [name, amount] of Object.entries(item.max ?? {})) limits[name] ??= amount;
  for (const [name, amount] of Object.entries(limits)) requests[name] ??= amount;
  for (const [name, amount] of Object.entries(item.min ?? {})) requests[name] ??= amount;
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}
