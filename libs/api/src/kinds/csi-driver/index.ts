import { duplicate, type FieldError, invalid, required, semanticEqual } from '@holdfast/machinery';
import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setDefault } from '../../defaults/set.ts';
import type { CSIDriver, CSIDriverSpec } from '../../generated/types.ts';
import { CSI_DRIVERS } from '../../refs.ts';
import type { Column } from '../../resource.ts';
import { validateWord } from '../../validation/check.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { TOKEN_EXPIRATION_SECONDS_MAX, TOKEN_EXPIRATION_SECONDS_MIN } from '../../validation/limits.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateCsiDriverName } from '../../validation/pod/volume-sources.ts';
import { checked } from '../checked.ts';
import { defineResource } from '../define.ts';
import { specChanged } from '../strategy.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

const flag = (
  name: string,
  description: string,
  read: (spec: CSIDriverSpec) => boolean | undefined,
): Column<CSIDriver> => ({
  name,
  type: 'boolean',
  description,
  priority: 0,
  cell: ({ spec }) => read(spec) === true,
});

export const csiDriverResource = defineResource(CSI_DRIVERS, {
  setDefaults: (driver) => {
    setDefault(driver, 'spec', {});
    const { spec } = driver;
    setDefault(spec, 'attachRequired', true);
    setDefault(spec, 'podInfoOnMount', false);
    setDefault(spec, 'storageCapacity', false);
    if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ['Persistent'];
    setDefault(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
    setDefault(spec, 'requiresRepublish', false);
    setDefault(spec, 'seLinuxMount', false);
  },
  strategy: {
    prepareForCreate: ({ spec }) => {
      // Mounting with labels is off in 1.32, and so is saying that a driver can.
      delete spec.seLinuxMount;
    },
    prepareForUpdate: ({ spec }, old) => {
      if (old.spec.seLinuxMount === undefined) delete spec.seLinuxMount;
    },
    ...checked<CSIDriver>(META, (out, driver, old) => {
      if (old === undefined) validateCsiDriverName(out, 'name', driver.metadata.name);
      validateSpec(out, driver.spec);
      if (old !== undefined) validateChange(out, driver.spec, old.spec);
    }),
    generationChanges: specChanged,
    allowUnconditionalUpdate: false,
  },
  columns: [
    nameColumn,
    flag('AttachRequired', 'Whether volumes must be attached first', (spec) => spec.attachRequired),
    flag('PodInfoOnMount', 'Whether the driver wants to know the pod', (spec) => spec.podInfoOnMount),
    flag('StorageCapacity', 'Whether the driver reports capacity', (spec) => spec.storageCapacity),
    textColumn('TokenRequests', 'The audiences of tokens that the driver gets', ({ spec }) => {
      const audiences = (spec.tokenRequests ?? []).map((request) => request.audience);
      return audiences.length === 0 ? '<unset>' : audiences.join(',');
    }),
    flag('RequiresRepublish', 'Whether volumes are published again and again', (spec) => spec.requiresRepublish),
    textColumn('Modes', 'What volumes of the driver can be', ({ spec }) => (spec.volumeLifecycleModes ?? []).join(',')),
    ageColumn,
  ],
});

function validateSpec(out: FieldError[], spec: Readonly<CSIDriverSpec>): void {
  for (const key of ['attachRequired', 'podInfoOnMount', 'storageCapacity', 'requiresRepublish'] as const) {
    if (spec[key] === undefined) out.push(required(`spec.${key}`));
  }
  for (const mode of spec.volumeLifecycleModes ?? []) {
    validateWord(out, 'spec.volumeLifecycleModes', mode, ['Ephemeral', 'Persistent']);
  }
  validateWord(out, 'spec.fsGroupPolicy', spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
  const audiences = new Set<string>();
  for (const [i, { audience, expirationSeconds: seconds }] of (spec.tokenRequests ?? []).entries()) {
    const path = `spec.tokenRequests[${i}]`;
    if (audiences.has(audience)) out.push(duplicate(`${path}.audience`, audience));
    audiences.add(audience);
    if (seconds === undefined) continue;
    if (seconds < TOKEN_EXPIRATION_SECONDS_MIN) {
      out.push(invalid(`${path}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes'));
    }
    if (seconds > TOKEN_EXPIRATION_SECONDS_MAX) {
      out.push(invalid(`${path}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds'));
    }
  }
}

function validateChange(out: FieldError[], spec: Readonly<CSIDriverSpec>, old: Readonly<CSIDriverSpec>): void {
  for (const key of ['attachRequired', 'fsGroupPolicy', 'volumeLifecycleModes'] as const) {
    if (!semanticEqual(spec[key], old[key])) {
      const shown = key === 'volumeLifecycleModes' ? goValue('[]storage.VolumeLifecycleMode', spec[key]) : spec[key];
      out.push(invalid(`spec.${key}`, shown, IMMUTABLE_TEXT));
    }
  }
}
