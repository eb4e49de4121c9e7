import { createSystemClock } from '@holdfast/platform';
import type { TestApi } from './fixture.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const REEF = '/apis/reef.example.com/v1';
export const CORALS = `${REEF}/namespaces/default/corals`;
export const definitionUrl = (name: string, subresource = ''): string => `${DEFINITIONS}/${name}${subresource}`;

type Fields = Readonly<Record<string, unknown>>;

/** The schema of a spec with these properties, and of a status. */
export const schemaWith = (spec: Fields, more: Fields = {}): Fields => ({
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: spec, ...more },
      status: {
        type: 'object',
        properties: { phase: { type: 'string' }, replicas: { type: 'integer' }, selector: { type: 'string' } },
      },
    },
  },
});

export interface CoralDefinition {
  readonly spec?: Fields;
  /** Beside the name and the schema of the only version. */
  readonly version?: Fields;
  readonly definition?: Fields;
  readonly names?: Fields;
}

export const coralDefinition = ({
  spec = {},
  version = {},
  definition = {},
  names = {},
}: CoralDefinition): unknown => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'corals.reef.example.com' },
  spec: {
    group: 'reef.example.com',
    scope: 'Namespaced',
    names: { plural: 'corals', singular: 'coral', kind: 'Coral', listKind: 'CoralList', ...names },
    versions: [{ name: 'v1', served: true, storage: true, schema: schemaWith(spec), ...version }],
    ...definition,
  },
});

/** Creates the definition and waits until its kind is served. */
export async function define(api: TestApi, body: unknown): Promise<void> {
  const created = await api.call('POST', DEFINITIONS, { body });
  if (created.status !== 201) throw new Error(`not defined: ${JSON.stringify(created.body)}`);
  await established(api, created.textAt('metadata.name'));
}

export const established = (api: TestApi, name: string): Promise<void> =>
  until(async () => (await conditionsOf(api, name))['Established'] === 'True');

/** Status by type. */
export async function conditionsOf(api: TestApi, name: string): Promise<Readonly<Record<string, string>>> {
  const { body } = await api.call('GET', definitionUrl(name));
  const conditions =
    (body as { status?: { conditions?: { type: string; status: string }[] } }).status?.conditions ?? [];
  return Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
}

export const coral = (name: string, spec: unknown = {}, more: Fields = {}): unknown => ({
  apiVersion: 'reef.example.com/v1',
  kind: 'Coral',
  metadata: { name },
  spec,
  ...more,
});

const CLOCK = createSystemClock();
const LOOKS_MAX = 500;

/** Looks again in every turn of the loop: what is waited for happens in this process. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    if (await holds()) return;
    await CLOCK.sleep(5);
  }
  throw new Error('what was waited for did not happen');
}
