import type { ApiRequest } from '@holdfast/client';
import { type JsonObject, ownValue } from '@holdfast/machinery';
import { formatMicroTime } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import type { RequestInfo } from '../http/request-info.ts';
import {
  AUDIT_ANNOTATIONS_MAX,
  AUDIT_EVENT_OBJECT_BYTES_MAX,
  AUDIT_ID_CHARACTERS_MAX,
  AUDIT_SOURCES_MAX,
  AUDIT_USER_AGENT_CHARACTERS_MAX,
} from '../limits.ts';
import type { AuditLevel } from './notes.ts';
import type { AuditStage } from './policy.ts';

/** An object in an event, as JSON text: what passes by is not parsed for it. */
export type JsonText = string;

export interface ObjectRef {
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiGroup?: string;
  readonly apiVersion: string;
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

export interface ResponseStatus {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: unknown;
  readonly code: number;
}

/** audit.k8s.io/v1 Event of one stage of one request. */
export interface AuditEvent {
  readonly level: AuditLevel;
  readonly auditId: string;
  readonly stage: AuditStage;
  readonly request: ApiRequest;
  readonly verb: string;
  readonly user: User | undefined;
  readonly impersonated: User | undefined;
  readonly objectRef: ObjectRef | undefined;
  readonly status: ResponseStatus | undefined;
  readonly sent: JsonText | undefined;
  readonly answered: JsonText | undefined;
  readonly receivedAt: number;
  readonly at: number;
  readonly annotations: ReadonlyMap<string, string>;
}

/** Formats one line with Kubernetes' field order. Omits objects whose total size exceeds the limit, and marks that. */
export function eventText(event: AuditEvent): string {
  const { request, user, impersonated } = event;
  const { sent, answered, annotations } = withinBounds(event);
  const agent = request.headers['user-agent'];
  const head = JSON.stringify({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: event.level,
    auditID: event.auditId,
    stage: event.stage,
    requestURI: uriOf(request),
    verb: event.verb,
    user: user === undefined ? {} : userInfo(user),
    ...(impersonated === undefined ? {} : { impersonatedUser: userInfo(impersonated) }),
    sourceIPs: sourcesOf(request),
    ...(agent === undefined ? {} : { userAgent: shortened(agent) }),
    ...(event.objectRef === undefined ? {} : { objectRef: event.objectRef }),
    ...(event.status === undefined ? {} : { responseStatus: { metadata: {}, ...event.status } }),
  });
  const tail = JSON.stringify({
    requestReceivedTimestamp: formatMicroTime(event.receivedAt),
    stageTimestamp: formatMicroTime(event.at),
    ...(annotations.size === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  });
  const objects = `${member('requestObject', sent)}${member('responseObject', answered)}`;
  return `${head.slice(0, -1)}${objects},${tail.slice(1)}`;
}

const member = (name: string, text: JsonText | undefined): string => (text === undefined ? '' : `,"${name}":${text}`);

export const TRUNCATED = 'audit.k8s.io/truncated';

function withinBounds({
  sent,
  answered,
  annotations,
}: AuditEvent): Pick<AuditEvent, 'sent' | 'answered' | 'annotations'> {
  const length = (sent?.length ?? 0) + (answered?.length ?? 0);
  const kept = annotations.size <= AUDIT_ANNOTATIONS_MAX;
  if (length <= AUDIT_EVENT_OBJECT_BYTES_MAX && kept) return { sent, answered, annotations };
  const first = [...annotations].slice(0, AUDIT_ANNOTATIONS_MAX);
  const told = new Map([...first, [TRUNCATED, 'true']]);
  return length <= AUDIT_EVENT_OBJECT_BYTES_MAX
    ? { sent, answered, annotations: told }
    : { sent: undefined, answered: undefined, annotations: told };
}

export function userInfo({ name, uid, groups, extra }: User): object {
  return {
    username: name,
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

export function objectRefOf(info: RequestInfo): ObjectRef | undefined {
  if (info.kind === 'path') return undefined;
  const { resource, namespace, name, group, version, subresource } = info;
  return {
    resource,
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { apiGroup: group }),
    apiVersion: version,
    ...(subresource === '' ? {} : { subresource }),
  };
}

/** Adds the object's metadata to the reference from the path. */
export function withMetadata(ref: ObjectRef, metadata: JsonObject): ObjectRef {
  const { resource, apiGroup, apiVersion, subresource } = ref;
  const text = (field: 'namespace' | 'name' | 'uid' | 'resourceVersion'): Partial<ObjectRef> => {
    const value = ref[field] ?? ownValue(metadata, field);
    return typeof value === 'string' && value !== '' ? { [field]: value } : {};
  };
  return {
    resource,
    ...text('namespace'),
    ...text('name'),
    ...text('uid'),
    ...(apiGroup === undefined ? {} : { apiGroup }),
    apiVersion,
    ...text('resourceVersion'),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

/** The id that the client gave the request, as far as it is kept; the answer repeats it whole. */
export function sentAuditId({ headers }: ApiRequest): string | undefined {
  const [first = ''] = (headers['audit-id'] ?? '').split(', ', 1);
  return first === '' ? undefined : first.slice(0, AUDIT_ID_CHARACTERS_MAX);
}

/** The path comes decoded. */
function uriOf({ path, query }: ApiRequest): string {
  const encoded = encodeURI(path.toWellFormed());
  return query.size === 0 ? encoded : `${encoded}?${query.toString()}`;
}

const shortened = (agent: string): string =>
  agent.length <= AUDIT_USER_AGENT_CHARACTERS_MAX
    ? agent
    : `${agent.slice(0, AUDIT_USER_AGENT_CHARACTERS_MAX)}...TRUNCATED`;

const ADDRESS = /^[\d.]+$|^[\da-f:.]*:[\da-f:.]*$/i;

/** Proxies on the way say where a request comes from; only the last address cannot be made up. */
function sourcesOf({ headers, connection }: ApiRequest): readonly string[] {
  const forwarded = (headers['x-forwarded-for'] ?? '').split(',').map((each) => each.trim());
  const real = (headers['x-real-ip'] ?? '').trim();
  const known = [...new Set([...forwarded, real])].filter((each) => ADDRESS.test(each)).slice(0, AUDIT_SOURCES_MAX);
  const remote = plainAddress(connection?.remoteAddress ?? '');
  return remote === '' || known.at(-1) === remote ? known : [...known, remote];
}

/** IPv4 through an IPv6 socket. */
const plainAddress = (address: string): string => (address.startsWith('::ffff:') ? address.slice(7) : address);
