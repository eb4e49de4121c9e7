import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { jsonAnswer, textAnswer } from '../http/answers.ts';
import { taggedAnswer, tagOf } from '../http/entity-tag.ts';
import { CONTENT_TYPES, type Encoding, type OtherForm, otherFormLikedBest } from '../http/negotiation.ts';
import { protobufForm } from '../http/protobuf.ts';
import { stringifyYaml } from '../http/yaml.ts';
import type { Catalog } from './catalog.ts';
import { namesOf, type ServedKind } from './served-kinds.ts';

/** As which of its versions a client takes all groups in one document; `undefined` when it does not. */
export const aggregatedForm = ({ headers }: Pick<ApiRequest, 'headers'>): OtherForm | undefined =>
  otherFormLikedBest(
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
  catalog: Catalog,
): ApiResponse | undefined {
  const form = aggregatedForm(request);
  if (form === undefined) return undefined;
  const { tag, answer } = keptDocument(catalog, { ...form, groups });
  return taggedAnswer(request, tag, answer);
}

interface Kept {
  readonly tag: string;
  readonly answer: ApiResponse;
}

interface Documents {
  readonly generation: number;
  /** One for each type, version and root, made when it is first asked for. */
  readonly byName: Map<string, Kept>;
}

/** Until the kinds of a catalog change. */
const kept = new WeakMap<Catalog, Documents>();

function documentsOf(catalog: Catalog): Map<string, Kept> {
  const known = kept.get(catalog);
  if (known?.generation === catalog.generation) return known.byName;
  const documents = { generation: catalog.generation, byName: new Map<string, Kept>() };
  kept.set(catalog, documents);
  return documents.byName;
}

type Wanted = Pick<OtherForm, 'encoding' | 'version'> & { readonly groups: readonly string[] };

function keptDocument(catalog: Catalog, { encoding, version, groups }: Wanted): Kept {
  const documents = documentsOf(catalog);
  const name = `${encoding} ${version} ${groups.join()}`;
  const known = documents.get(name);
  if (known !== undefined) return known;
  const document = aggregated(catalog, version, groups);
  const contentType = `${CONTENT_TYPES[encoding]};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const { status, headers, body } = written(document, encoding, contentType);
  const answer = { status, headers: { ...headers, vary: 'Accept', 'cache-control': 'public' }, body };
  const made = { tag: tagOf(Buffer.from(JSON.stringify(document))), answer };
  documents.set(name, made);
  return made;
}

function written(document: object, encoding: Encoding, contentType: string): ApiResponse {
  if (encoding === 'yaml') return textAnswer(200, stringifyYaml(document), contentType);
  const inProtobuf = encoding === 'protobuf' ? protobufForm(200, document, contentType) : undefined;
  return inProtobuf ?? jsonAnswer(200, document, contentType);
}

function aggregated(catalog: Catalog, apiVersion: string, groups: readonly string[]): object {
  const items = groups.map((group) => ({
    metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
    versions: catalog.versionsOf(group).map((version) => ({
      version,
      resources: catalog.kindsOf(group, version).map(aggregatedEntry),
      freshness: 'Current',
    })),
  }));
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${apiVersion}`, metadata: {}, items };
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
