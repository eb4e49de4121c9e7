import { type FieldError, forbidden, invalid, semanticEqual } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { StorageClass } from '../../generated/types.ts';
import { STORAGE_CLASSES } from '../../refs.ts';
import { isDefaultStorageClass } from '../../semantics/storage.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { deprecatedNodeLabel } from '../../validation/node-labels.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';
import { validateStorageClass } from './validation.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

export const storageClassResource = defineResource(STORAGE_CLASSES, {
  setDefaults: (storageClass) => {
    setDefault(storageClass, 'reclaimPolicy', 'Delete');
    setDefault(storageClass, 'volumeBindingMode', 'Immediate');
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<StorageClass>(META, {
      whole: validateStorageClass,
      change: validateChange,
      onUpdate: ['whole', 'metadata', 'change'],
    }),
    warnings: topologyWarnings,
    allowUnconditionalUpdate: true,
  },
  columns: [
    {
      ...nameColumn,
      cell: (c: Readonly<StorageClass>) => `${c.metadata.name ?? ''}${isDefaultStorageClass(c) ? ' (default)' : ''}`,
    },
    textColumn('Provisioner', 'Who makes the volumes', (c) => c.provisioner),
    textColumn('ReclaimPolicy', 'What becomes of a volume when its claim is gone', (c) => c.reclaimPolicy ?? ''),
    textColumn('VolumeBindingMode', 'When a volume is made', (c) => c.volumeBindingMode ?? ''),
    textColumn('AllowVolumeExpansion', 'Whether volumes can grow', (c) => c.allowVolumeExpansion === true),
    ageColumn,
  ],
});

/** Existing volumes were made with the parameters of their class, so these are immutable. */
function validateChange(out: FieldError[], storageClass: Readonly<StorageClass>, old: Readonly<StorageClass>): void {
  if (!semanticEqual(storageClass.parameters, old.parameters)) {
    out.push(forbidden('parameters', 'updates to parameters are forbidden.'));
  }
  if (storageClass.provisioner !== old.provisioner) {
    out.push(forbidden('provisioner', 'updates to provisioner are forbidden.'));
  }
  if (storageClass.reclaimPolicy !== old.reclaimPolicy) {
    out.push(forbidden('reclaimPolicy', 'updates to reclaimPolicy are forbidden.'));
  }
  if (storageClass.volumeBindingMode !== old.volumeBindingMode) {
    out.push(invalid('volumeBindingMode', storageClass.volumeBindingMode, IMMUTABLE_TEXT));
  }
}

function topologyWarnings({ allowedTopologies = [] }: Readonly<StorageClass>): readonly string[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }, i) =>
    matchLabelExpressions.flatMap(({ key }, j) => {
      const deprecated = deprecatedNodeLabel(key);
      return deprecated === undefined ? [] : [`allowedTopologies[${i}].matchLabelExpressions[${j}].key: ${deprecated}`];
    }),
  );
}
