import type { FieldError } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import type { ServiceAccount } from '../../generated/types.ts';
import { SERVICE_ACCOUNTS } from '../../refs.ts';
import { MOUNTABLE_SECRETS_ANNOTATION } from '../../semantics/well-known.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const DEPRECATED = `metadata.annotations[${MOUNTABLE_SECRETS_ANNOTATION}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;

const asksForMountable = (account: Readonly<ServiceAccount> | undefined): boolean =>
  account?.metadata.annotations?.[MOUNTABLE_SECRETS_ANNOTATION] !== undefined;

/** Only the name of a secret reference is kept. */
function cleanReferences(account: ServiceAccount): void {
  if (account.secrets === undefined) return;
  account.secrets = account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const serviceAccountResource = defineResource(SERVICE_ACCOUNTS, {
  setDefaults: nothingToPrepare,
  strategy: {
    prepareForCreate: cleanReferences,
    prepareForUpdate: cleanReferences,
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
    warnings: (account, old) => (asksForMountable(account) && !asksForMountable(old) ? [DEPRECATED] : []),
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Secrets', 'How many secrets pods of this account may use', (account) => account.secrets?.length ?? 0),
    ageColumn,
  ],
});
