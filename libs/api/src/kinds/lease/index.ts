import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { LEASES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';
import { validateLeaseCreate, validateLeaseUpdate } from './validation.ts';

export const leaseResource = defineResource(LEASES, {
  setDefaults: (lease) => setDefault(lease, 'spec', {}),
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    validateCreate: validateLeaseCreate,
    validateUpdate: validateLeaseUpdate,
    allowCreateOnUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Holder', 'Who holds the lease', (lease) => lease.spec.holderIdentity ?? ''),
    ageColumn,
  ],
});
