import { invalid, required, semanticEqual } from '@holdfast/machinery';
import { ageColumn, integerColumn, NONE, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { ControllerRevision } from '../../generated/types.ts';
import { CONTROLLER_REVISIONS } from '../../refs.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { IMMUTABLE_TEXT, validateNonNegative } from '../../validation/numbers.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: true, name: dnsSubdomainErrors, wholeOnUpdate: true } as const;

export const controllerRevisionResource = defineResource(CONTROLLER_REVISIONS, {
  setDefaults: (revision) => setDefault(revision, 'revision', 0),
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checked<ControllerRevision>(META, (out, revision, old) => {
      if (revision.data === undefined || revision.data === null) out.push(required('data', 'data is mandatory'));
      validateNonNegative(out, 'revision', revision.revision);
      if (old !== undefined && !semanticEqual(revision.data, old.data)) {
        out.push(invalid('data', revision.data, IMMUTABLE_TEXT));
      }
    }),
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn('Controller', 'Whose state the revision is', ownerText),
    integerColumn('Revision', 'The number of the revision', (revision) => revision.revision),
    ageColumn,
  ],
});

function ownerText(revision: Readonly<ControllerRevision>): string {
  const owner = revision.metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return NONE;
  const apiVersion = owner.apiVersion ?? '';
  const group = apiVersion.includes('/') ? (apiVersion.split('/', 1)[0] ?? '') : '';
  return `${(owner.kind ?? '').toLowerCase()}${group === '' ? '' : `.${group}`}/${owner.name ?? ''}`;
}
