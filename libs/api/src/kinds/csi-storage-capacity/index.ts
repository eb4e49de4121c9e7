import { type FieldError, invalid } from '@holdfast/machinery';
import { nameColumn, textColumn } from '../../columns/columns.ts';
import type { CSIStorageCapacity } from '../../generated/types.ts';
import { CSI_STORAGE_CAPACITIES } from '../../refs.ts';
import { validateText } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateLabelSelector } from '../../validation/labels.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateNonNegativeQuantity } from '../../validation/quantities.ts';
import { validateImmutableSelector } from '../../validation/workload.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export const csiStorageCapacityResource = defineResource(CSI_STORAGE_CAPACITIES, {
  setDefaults: nothingToPrepare,
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<CSIStorageCapacity>(META, {
      whole: validateCapacity,
      change: validateChange,
      onUpdate: ['whole', 'metadata', 'change'],
    }),
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    textColumn('StorageClassName', 'The class that has the capacity', (capacity) => capacity.storageClassName),
    textColumn('Capacity', 'How much is left', (capacity) => capacity.capacity ?? '<unset>'),
  ],
});

function validateCapacity(out: FieldError[], capacity: Readonly<CSIStorageCapacity>): void {
  validateLabelSelector(out, 'nodeTopology', capacity.nodeTopology);
  validateText(out, 'storageClassName', capacity.storageClassName ?? '', dnsSubdomainErrors);
  if (capacity.capacity !== undefined) validateNonNegativeQuantity(out, 'capacity', capacity.capacity);
}

function validateChange(
  out: FieldError[],
  capacity: Readonly<CSIStorageCapacity>,
  old: Readonly<CSIStorageCapacity>,
): void {
  validateImmutableSelector(out, capacity.nodeTopology, old.nodeTopology, 'nodeTopology');
  if (capacity.storageClassName !== old.storageClassName) {
    out.push(invalid('storageClassName', capacity.storageClassName, IMMUTABLE_TEXT));
  }
}
