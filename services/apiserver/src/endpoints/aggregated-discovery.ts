import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { jsonAnswer } from '../http/answers.ts';
import { taggedAnswer, tagOf } from '../http/entity-tag.ts';
import { PROTOBUF } from '../http/negotiation.ts';
import { protobufForm } from '../http/protobuf.ts';
import { kindsOf, namesOf, type ServedKind, versionsOf } from './served-kinds.ts';

const AGGREGATED =
  /application\/(json|vnd\.kubernetes\.protobuf);(?=[^,]*g=apidiscovery\.k8s\.io)(?=[^,]*v=(v2beta1|v2)(?:[;, ]|$))(?=[^,]*as=APIGroupDiscoveryList)/;

/** All of these groups in one document, for clients that can read that; they keep it and ask whether it is still right. */
export function aggregatedAnswer(request: ApiRequest, groups: readonly string[]): ApiResponse | undefined {
  const found = AGGREGATED.exec((request.headers['accept'] ?? '').replaceAll(' ', ''));
  if (found === null) return undefined;
  const [, type = '', version = ''] = found;
  const { tag, answer } = keptDocument({ type: `application/${type}`, version, groups });
  return taggedAnswer(request, tag, answer);
}

interface Kept {
  readonly tag: string;
  readonly answer: ApiResponse;
}

/** One for each type, version and root, made when it is first asked for: the API does not change while it runs. */
const documents = new Map<string, Kept>();

interface Wanted {
  readonly type: string;
  readonly version: string;
  readonly groups: readonly string[];
}

function keptDocument({ type, version, groups }: Wanted): Kept {
  const name = `${type} ${version} ${groups.join()}`;
  const known = documents.get(name);
  if (known !== undefined) return known;
  const document = aggregated(version, groups);
  const contentType = `${type};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const encoded = type === PROTOBUF ? protobufForm(200, document, contentType) : undefined;
  const { status, headers, body } = encoded ?? jsonAnswer(200, document, contentType);
  const answer = { status, headers: { ...headers, vary: 'Accept', 'cache-control': 'public' }, body };
  const made = { tag: tagOf(Buffer.from(JSON.stringify(document))), answer };
  documents.set(name, made);
  return made;
}

function aggregated(apiVersion: string, groups: readonly string[]): object {
  const items = groups.map((group) => ({
    metadata: { ...(group === '' ? {} : { name: group }), creationTimestamp: null },
    versions: versionsOf(group).map((version) => ({
      version,
      resources: kindsOf(group, version).map(aggregatedEntry),
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
