import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefaultOfZero, setEmptyBytes } from '../../defaults/set.ts';
import type { Secret } from '../../generated/types.ts';
import { SECRETS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';
import { validateSecretCreate, validateSecretUpdate } from './validation.ts';
import { secretWarnings } from './warnings.ts';

export const secretResource = defineResource(SECRETS, {
  setDefaults: (secret) => {
    setEmptyBytes(secret.data);
    moveStringData(secret);
    setDefaultOfZero(secret, 'type', 'Opaque');
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: (secret, old) => {
      // An update without a type keeps the type.
      if (!secret.type && old.type) secret.type = old.type;
    },
    validateCreate: validateSecretCreate,
    validateUpdate: validateSecretUpdate,
    warnings: secretWarnings,
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Type', 'What the secret is for', (secret) => secret.type ?? ''),
    textColumn('Data', 'How many entries the object holds', (secret) => Object.keys(secret.data ?? {}).length),
    ageColumn,
  ],
  selectableFields: { type: (secret) => secret.type ?? '' },
});

/** `stringData` is a convenience for clients: it is stored as bytes and overrides `data`. */
function moveStringData(secret: Secret): void {
  if (secret.stringData === undefined) return;
  for (const [key, text] of Object.entries(secret.stringData)) {
    (secret.data ??= {})[key] = Buffer.from(text, 'utf8').toString('base64');
  }
  delete secret.stringData;
}
