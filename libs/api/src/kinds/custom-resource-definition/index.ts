import { createdAtColumn, nameColumn } from '../../columns/columns.ts';
import { beginCleanup } from '../../custom/lifecycle.ts';
import { setDefault, setDefaultOfZero } from '../../defaults/set.ts';
import { setClientConfigDefaults } from '../../defaults/webhooks.ts';
import type { CustomResourceDefinition } from '../../generated/types.ts';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepSpec, keepStatus, SPEC_AND_METADATA, specChanged } from '../strategy.ts';
import { validateCrdCreate, validateCrdStatusUpdate, validateCrdUpdate } from './validation.ts';

export const customResourceDefinitionResource = defineResource(CUSTOM_RESOURCE_DEFINITIONS, {
  setDefaults: setCrdDefaults,
  strategy: {
    prepareForCreate: (crd) => {
      crd.status = noStatus();
      const storage = crd.spec.versions?.find((version) => version.storage);
      if (storage !== undefined) crd.status.storedVersions = [storage.name];
    },
    prepareForUpdate: (crd, old) => {
      keepStatus(crd, old);
      const storage = (crd.spec.versions ?? []).find((version) => version.storage)?.name;
      const stored = old.status.storedVersions ?? [];
      if (storage === undefined || stored.includes(storage)) return;
      crd.status = { ...old.status, storedVersions: [...stored, storage] };
    },
    validateCreate: validateCrdCreate,
    validateUpdate: validateCrdUpdate,
    generationChanges: specChanged,
    beginsDeletion: beginCleanup,
    allowUnconditionalUpdate: false,
  },
  status: {
    resets: SPEC_AND_METADATA,
    // Kubernetes intends to keep the metadata, too, but keeps the sent metadata.
    prepareForUpdate: keepSpec,
    validateUpdate: validateCrdStatusUpdate,
  },
  columns: [nameColumn, createdAtColumn],
});

const noStatus = (): CustomResourceDefinition['status'] => ({
  acceptedNames: { kind: '', plural: '' },
  conditions: null,
  storedVersions: null,
});

function setCrdDefaults(crd: CustomResourceDefinition): void {
  setDefault(crd, 'spec', { group: '', names: { kind: '', plural: '' }, scope: '', versions: [] });
  setDefault(crd, 'status', noStatus());
  const { spec } = crd;
  setDefault(spec, 'names', { kind: '', plural: '' });
  setDefaultOfZero(spec.names, 'singular', (spec.names.kind ?? '').toLowerCase());
  if (spec.names.kind) setDefaultOfZero(spec.names, 'listKind', `${spec.names.kind}List`);
  setDefault(spec, 'conversion', { strategy: 'None' });
  setClientConfigDefaults(spec.conversion?.webhook?.clientConfig);
  const storage = spec.versions?.find((version) => version.storage)?.name;
  if (storage !== undefined && (crd.status.storedVersions ?? []).length === 0) crd.status.storedVersions = [storage];
}
