import type { Definition, Swagger } from './swagger.ts';

const CORE = 'io.k8s.api.core.v1.';
const refTo = (name: string): { readonly $ref: string } => ({ $ref: `#/definitions/${name}` });

/**
 * Fields of this API beyond Kubernetes: where a volume without locking of its own is attached (RWO-17), and the number
 * of its last attachment. Clients that do not know the fields leave them alone as long as they patch.
 */
const ADDED: Readonly<Record<string, Definition>> = {
  [`${CORE}PersistentVolumeAttachment`]: {
    type: 'object',
    required: ['nodeName', 'nodeUID'],
    properties: {
      attachedAt: refTo('io.k8s.apimachinery.pkg.apis.meta.v1.Time'),
      nodeName: { type: 'string' },
      nodeUID: { type: 'string' },
      pods: { type: 'array', items: refTo(`${CORE}PersistentVolumeUser`), 'x-kubernetes-list-type': 'atomic' },
    },
  },
  [`${CORE}PersistentVolumeUser`]: {
    type: 'object',
    required: ['namespace', 'name', 'uid'],
    properties: { name: { type: 'string' }, namespace: { type: 'string' }, uid: { type: 'string' } },
  },
};

const EXTENDED: Readonly<Record<string, Definition['properties']>> = {
  [`${CORE}PersistentVolumeStatus`]: {
    attachment: refTo(`${CORE}PersistentVolumeAttachment`),
    fencingToken: { type: 'integer', format: 'int64' },
  },
};

export function extended(swagger: Swagger): Swagger {
  const definitions: Record<string, Definition> = { ...swagger.definitions, ...ADDED };
  for (const [name, properties] of Object.entries(EXTENDED)) {
    const known = definitions[name] ?? {};
    definitions[name] = { ...known, properties: sorted({ ...known.properties, ...properties }) };
  }
  return { ...swagger, definitions };
}

/** As in the documents. */
const sorted = <T>(record: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
