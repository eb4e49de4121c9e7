import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import { LEASES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { validateLeaseCreate, validateLeaseUpdate } from './validation.ts';

export const leaseResource = defineResource(LEASES, {
  setDefaults: (lease) => setDefault(lease, 'spec', {}),
  strategy: {
    // Coordinated leader election is off in 1.32; its fields are dropped.
    prepareForCreate: ({ spec }) => {
      delete spec.strategy;
      delete spec.preferredHolder;
    },
    prepareForUpdate: ({ spec }, old) => {
      if (old.spec.strategy === undefined) delete spec.strategy;
      if (old.spec.preferredHolder === undefined) delete spec.preferredHolder;
    },
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
