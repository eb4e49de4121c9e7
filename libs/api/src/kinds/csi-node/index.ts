import { duplicate, type FieldError, invalid, required, semanticEqual } from '@holdfast/machinery';
import { ageColumn, integerColumn, nameColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { CSINode, CSINodeDriver } from '../../generated/types.ts';
import { CSI_NODES } from '../../refs.ts';
import { validateQualifiedName, validateRequiredText } from '../../validation/check.ts';
import { byteLength, dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateCsiDriverName } from '../../validation/pod/volume-sources.ts';
import { checkedInSteps } from '../checked.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;
const NODE_ID_BYTES_MAX = 256;

export const csiNodeResource = defineResource(CSI_NODES, {
  setDefaults: (node) => {
    setDefault(node, 'spec', { drivers: [] });
    if (node.spec.drivers === undefined) Object.assign(node.spec, { drivers: null });
    for (const driver of node.spec.drivers ?? []) {
      if (driver.topologyKeys === undefined) Object.assign(driver, { topologyKeys: null });
    }
  },
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    ...checkedInSteps<CSINode>(META, {
      whole: (out, { spec }) => {
        const names = new Set<string>();
        for (const [i, driver] of (spec.drivers ?? []).entries()) {
          validateDriver(out, `spec.drivers[${i}]`, driver, names);
        }
      },
      change: validateChange,
      onUpdate: ['whole', 'whole', 'change'],
    }),
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    integerColumn('Drivers', 'How many drivers run on the node', ({ spec }) => (spec.drivers ?? []).length),
    ageColumn,
  ],
});

/** The entry of a driver is immutable, but may be removed and added again. */
function validateChange(out: FieldError[], { spec }: Readonly<CSINode>, old: Readonly<CSINode>): void {
  const named = Map.groupBy(spec.drivers ?? [], ({ name }) => name);
  for (const before of old.spec.drivers ?? []) {
    for (const driver of named.get(before.name) ?? []) {
      if (semanticEqual(driver, before)) continue;
      out.push(invalid('spec.drivers', goValue('storage.CSINodeDriver', driver), IMMUTABLE_TEXT));
    }
  }
}

function validateDriver(out: FieldError[], path: string, driver: Readonly<CSINodeDriver>, names: Set<string>): void {
  validateCsiDriverName(out, `${path}.name`, driver.name);
  if (validateRequiredText(out, `${path}.nodeID`, driver.nodeID) && byteLength(driver.nodeID) > NODE_ID_BYTES_MAX) {
    out.push(invalid(`${path}.nodeID`, driver.nodeID, `must be ${NODE_ID_BYTES_MAX} characters or less`));
  }
  const count = driver.allocatable?.count;
  if (count !== undefined && count < 0) {
    out.push(invalid(`${path}.allocatable.count`, count, 'must be greater than or equal to 0'));
  }
  if (names.has(driver.name)) out.push(duplicate(`${path}.name`, driver.name));
  names.add(driver.name);
  const keys = new Set<string>();
  for (const key of driver.topologyKeys ?? []) {
    if (key === '') out.push(required(path));
    if (keys.has(key)) out.push(duplicate(path, key));
    keys.add(key);
    validateQualifiedName(out, path, key);
  }
}
