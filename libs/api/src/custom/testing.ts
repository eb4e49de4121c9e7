import { fieldErrorMessage, type JsonObject } from '@holdfast/machinery';
import type { CustomResourceDefinition } from '../generated/types.ts';
import { validateCrdCreate } from '../kinds/custom-resource-definition/validation.ts';

/** Returns the errors of a definition with this schema. */
export function crdRefusals(schema: JsonObject): readonly string[] {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
    status: { acceptedNames: { plural: '', kind: '' }, conditions: null, storedVersions: ['v1'] },
  };
  return validateCrdCreate(crd as unknown as CustomResourceDefinition, { now: 0 }).map(fieldErrorMessage);
}
