import type { KubeObject } from '@holdfast/api';
import { collectionPath } from '@holdfast/client';
import { type ForeignObject, writeForeignSnapshot } from '@holdfast/cluster/foreign-snapshot';
import { OperatorError } from '@holdfast/platform';
import { defineCommand, type Terminal } from '../command.ts';
import { misuse } from '../misuse.ts';
import { arrayAt, at, discover, type Served, textAt } from '../resources.ts';
import type { Session } from '../session.ts';
import { showWork } from '../terminal/work.ts';

const PAGE_OBJECTS = 500;
const OBJECTS_MAX = 200_000;

export const SNAPSHOT = defineCommand({
  usage: 'snapshot FILE',
  about: `Writes the objects of a running cluster to a file from which test clusters continue: startCluster({ from: FILE }). It only reads.
Resources are read one after the other, so the file is not one moment of a cluster that changes. Only its
owner may read the file.`,
  settings: {
    out: { kind: 'string', short: 'o', help: 'The file, in place of FILE' },
    secrets: { kind: 'boolean', help: 'Also secrets' },
    json: { kind: 'boolean', help: 'Print one JSON document: file, objects' },
  },
  act: async ({ settings: { out: flag, secrets, json }, words }, session, terminal) => {
    const [out, ...more] = flag === undefined ? words : [flag, ...words];
    if (out === undefined) throw misuse('no file is named', 'Name it, as in `snapshot state.json`.');
    if (more.length > 0) throw misuse('snapshot writes one file', 'Name it once, as in `snapshot state.json`.');
    const { print, tell, clock } = terminal;
    const objects = await readCluster(session, secrets, terminal);
    await writeForeignSnapshot(out, objects, clock.now());
    print(json ? JSON.stringify({ file: out, objects: objects.length }) : `${objects.length} objects in ${out}`);
    tell('Webhook configurations are left out, and no webhook converts custom resources: the copy calls nobody.');
    if (!secrets) tell('Secrets are left out; --secrets takes them along.');
  },
});

async function readCluster(session: Session, secrets: boolean, terminal: Terminal): Promise<readonly ForeignObject[]> {
  const resources = (await discover(session)).filter((served) => isTaken(served, secrets));
  const objects: ForeignObject[] = [];
  using work = showWork('resources read', terminal);
  for (const [done, resource] of resources.entries()) {
    work.at(done, resources.length);
    objects.push(...(await readAll(resource, session, OBJECTS_MAX - objects.length)));
  }
  return objects;
}

/** Records of the past, views of others, and what an API server writes by itself. */
const NOT_TAKEN: ReadonlySet<string> = new Set([
  'events.',
  'events.events.k8s.io',
  'componentstatuses.',
  'apiservices.apiregistration.k8s.io',
  // From a copy of the cluster they would call the programs of the first one.
  'mutatingwebhookconfigurations.admissionregistration.k8s.io',
  'validatingwebhookconfigurations.admissionregistration.k8s.io',
]);

/** A webhook that converts custom resources would be called, too. The copy returns them as they are stored. */
function withoutCalls(object: KubeObject): KubeObject {
  if (object.kind !== 'CustomResourceDefinition') return object;
  const { spec, ...rest } = object as KubeObject & { readonly spec?: { readonly conversion?: unknown } };
  return { ...rest, spec: { ...spec, conversion: { strategy: 'None' } } } as KubeObject;
}

function isTaken({ group, plural, verbs }: Served, secrets: boolean): boolean {
  if (group === '' && plural === 'secrets' && !secrets) return false;
  const isView = group === 'metrics.k8s.io' || group.endsWith('.metrics.k8s.io');
  return verbs.includes('list') && verbs.includes('create') && !isView && !NOT_TAKEN.has(`${plural}.${group}`);
}

async function readAll(resource: Served, session: Session, room: number): Promise<readonly ForeignObject[]> {
  const { group, version, kind, plural } = resource;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const objects: ForeignObject[] = [];
  for (let next = ''; ; ) {
    const query = new URLSearchParams({ limit: String(PAGE_OBJECTS), ...(next === '' ? {} : { continue: next }) });
    const page = await session.read(collectionPath(resource, undefined), 'application/json', query);
    for (const item of arrayAt(page, 'items')) {
      // Items of a list do not say what they are.
      const object = { apiVersion, kind, ...(item as Omit<KubeObject, 'apiVersion' | 'kind'>) };
      objects.push({ group, resource: plural, object: withoutCalls(object) });
    }
    if (objects.length > room) throw tooMany();
    next = textAt(at(page, 'metadata'), 'continue');
    if (next === '') return objects;
  }
}

const tooMany = (): OperatorError =>
  new OperatorError({
    code: 'SnapshotTooLarge',
    message: `the cluster has more than ${OBJECTS_MAX} objects`,
    nextStep: 'Take the snapshot of a smaller cluster.',
  });
