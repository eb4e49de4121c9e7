import type { FieldError } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { SERVICE_ACCOUNTS } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const serviceAccountResource = defineResource(SERVICE_ACCOUNTS, {
  setDefaults: nothingToPrepare,
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    validateCreate: (account) => {
      const out: FieldError[] = [];
      validateObjectMeta(out, account.metadata, META);
      return out;
    },
    validateUpdate: (account, old) => {
      const out: FieldError[] = [];
      validateObjectMetaUpdate(out, account.metadata, old.metadata);
      validateObjectMeta(out, account.metadata, META);
      return out;
    },
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Secrets', 'How many secrets pods of this account may use', (account) => account.secrets?.length ?? 0),
    ageColumn,
  ],
});
