import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { jsonAnswer, textAnswer } from '../http/answers.ts';
import { taggedAnswer, tagOf } from '../http/entity-tag.ts';
import { type AcceptedType, acceptedTypeLikedBest, CONTENT_TYPES, type Encoding } from '../http/negotiation.ts';
import { optionalProtobufAnswer } from '../http/protobuf.ts';
import { stringifyYaml } from '../http/yaml.ts';
import type { Directory } from './directory.ts';
import { namesOf, type ServedKind } from './served-kinds.ts';

/** Returns the version in which a client accepts aggregated discovery; `undefined` when it does not. */
export const aggregatedType = ({ headers }: Pick<ApiRequest, 'headers'>): AcceptedType | undefined =>
  acceptedTypeLikedBest(
    headers['accept'] ?? '',
    ({ group, version, kind }) =>
      group === 'apidiscovery.k8s.io' &&
      kind === 'APIGroupDiscoveryList' &&
      (version === 'v2' || version === 'v2beta1'),
  );

/** All of these groups in one document, for clients that can read that; they keep it and ask whether it is still right. */
export function aggregatedAnswer(
  request: ApiRequest,
  groups: readonly string[],
  directory: Directory,
): ApiResponse | undefined {
  const form = aggregatedType(request);
  if (form === undefined) return undefined;
  const { tag, answer } = keptDocument(directory, { ...form, groups });
  return taggedAnswer(request, tag, answer);
}

interface Kept {
  readonly tag: string;
  readonly answer: ApiResponse;
}

interface Documents {
  readonly generation: number;
  /** One per type, version and root, made on first use. */
  readonly byName: Map<string, Kept>;
}

/** Until the kinds of a directory change. */
const kept = new WeakMap<Directory, Documents>();

function documentsOf(directory: Directory): Map<string, Kept> {
  const known = kept.get(directory);
  if (known?.generation === directory.generation) return known.byName;
  const documents = { generation: directory.generation, byName: new Map<string, Kept>() };
  kept.set(directory, documents);
  return documents.byName;
}

type Wanted = Pick<AcceptedType, 'encoding' | 'version'> & { readonly groups: readonly string[] };

function keptDocument(directory: Directory, { encoding, version, groups }: Wanted): Kept {
  const documents = documentsOf(directory);
  const name = `${encoding} ${version} ${groups.join()}`;
  const known = documents.get(name);
  if (known !== undefined) return known;
  const document = aggregated(directory, version, groups);
  const contentType = `${CONTENT_TYPES[encoding]};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const { status, headers, body } = written(document, encoding, contentType);
  const answer = { status, headers: { ...headers, vary: 'Accept', 'cache-control': 'public' }, body };
  const made = { tag: tagOf(Buffer.from(JSON.stringify(document))), answer };
  documents.set(name, made);
  return made;
}

function written(document: object, encoding: Encoding, contentType: string): ApiResponse {
  if (encoding === 'yaml') return textAnswer(200, stringifyYaml(document), contentType);
  const inProtobuf = encoding === 'protobuf' ? optionalProtobufAnswer(200, document, contentType) : undefined;
  return inProtobuf ?? jsonAnswer(200, document, contentType);
}

function aggregated(directory: Directory, apiVersion: string, groups: readonly string[]): object {
  const items = groups.map((group) => ({
    metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
    versions: directory.versionsOf(group).map((version) => ({ version, ...versionEntry(directory, group, version) })),
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${apiVersion}`, metadata: {}, items };
}

function versionEntry(directory: Directory, group: string, version: string): object {
  const remote = directory.remoteVersion(group, version);
  if (remote === undefined) {
    return { resources: directory.kindsOf(group, version).map(aggregatedEntry), freshness: 'Current' };
  }
  const { resources, freshness } = remote;
  return { ...(resources.length === 0 ? {} : { resources }), freshness };
}

function aggregatedEntry(served: ServedKind): object {
  const { plural, singular, namespaced, kind, verbs } = served;
  const subresources = served.subresources.map((sub) => ({
    subresource: sub.name,
    responseKind: responseKind(served, sub.body),
    verbs: sub.verbs,
  }));
  return {
    resource: plural,
    responseKind: { group: '', version: '', kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...namesOf(served),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** A kind of the resource's own group is named without it. */
function responseKind(served: ServedKind, body: ServedKind['subresources'][number]['body']): object {
  if (body === undefined || body.group === served.group)
    return { group: '', version: '', kind: body?.kind ?? served.kind };
  return { group: body.group, version: body.version, kind: body.kind };
}
