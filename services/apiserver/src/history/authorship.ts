import { type ApiRequest, HAD_SEEN_HEADER } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { objectKey, resourcePrefix } from '@holdfast/store';
import { API_SERVER, type User } from '../authentication/identity.ts';
import type { Core } from '../core.ts';
import type { ResourceRequest } from '../http/request-info.ts';
import { HISTORY_KEY_CHARS_MAX } from '../limits.ts';
import { storedNameOf } from '../objects/stored-object.ts';
import { AuthoredStore } from './authored-store.ts';
import { cut, ownText } from './own-text.ts';
import type { Authorship } from './record.ts';

interface Incoming {
  readonly request: ApiRequest;
  readonly user: User;
}

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** The same core; writes of this request tell the history who made them. */
export function recorded(core: Core, incoming: Incoming, info: ResourceRequest): Core {
  const { history } = core;
  if (history === undefined || READS.has(info.verb)) return core;
  return { ...core, store: new AuthoredStore(core.store, history, () => authorshipOf(core, incoming, info)) };
}

/** A write that lost against another one is part of what happened. It changed nothing. */
export function recordRefusal(core: Core, incoming: Incoming, info: ResourceRequest, error: unknown): void {
  const { history } = core;
  if (history === undefined || READS.has(info.verb) || !(error instanceof StatusError) || error.code !== 409) return;
  // Its own objects are mostly there already.
  if (incoming.user === API_SERVER || incoming.request.query.has('dryRun')) return;
  const name = info.name === '' ? (error.body.details?.name ?? '') : info.name;
  if (name === '' || name.includes('/')) return;
  const { group, plural } = storedPlace(core, info);
  const key = objectKey({ group, resource: plural, namespace: namespaceOf(core, info), name });
  // Names are validated later than some writes are refused.
  if (key.length > HISTORY_KEY_CHARS_MAX) return;
  const refused = { key: ownText(key, HISTORY_KEY_CHARS_MAX), reason: ownText(error.message) };
  history.refused({ ...refused, authorship: authorshipOf(core, incoming, info) });
}

/** A request for the object of a namespace names it twice. */
function namespaceOf({ kinds }: Core, info: ResourceRequest): string {
  return kinds.find(info.group, info.version, info.resource)?.namespaced === false ? '' : info.namespace;
}

function storedPlace({ kinds }: Core, info: ResourceRequest): { readonly group: string; readonly plural: string } {
  const definition = kinds.find(info.group, info.version, info.resource);
  return definition === undefined ? { group: info.group, plural: info.resource } : storedNameOf(definition);
}

function authorshipOf(core: Core, { request, user }: Incoming, info: ResourceRequest): Authorship {
  const { headers, query } = request;
  const userAgent = headers['user-agent'] ?? '';
  const { group, plural } = storedPlace(core, info);
  const resource = resourcePrefix(group, plural);
  const sent = core.history?.seen.of(user.name, userAgent);
  const told = toldBy(headers[HAD_SEEN_HEADER], core.cache.revision);
  return {
    resource,
    author: {
      user: cut(user.name),
      userAgent: cut(userAgent),
      verb: info.verb,
      subresource: ownText(info.subresource),
      manager: info.verb === 'delete' ? '' : ownText(query.get('fieldManager') || programOf(userAgent)),
    },
    requestId: ownText(headers['audit-id'] ?? traceOf(headers['traceparent'] ?? '')),
    seenOfResource: Math.max(sent?.of(resource) ?? 0, told.ofResource),
    seenOfAny: Math.max(sent?.ofAny ?? 0, told.ofAny),
  };
}

/** What a component says that it learned from the bus. Nobody has seen what is still to come. */
function toldBy(header: string | undefined, newest: number): { readonly ofResource: number; readonly ofAny: number } {
  const [, ofResource = '0', ofAny = '0'] = HAD_SEEN.exec(header ?? '') ?? [];
  return { ofResource: Math.min(Number(ofResource), newest), ofAny: Math.min(Number(ofAny), newest) };
}

const HAD_SEEN = /^(\d{1,16}) (\d{1,16})$/;

/** As the owner of fields is named without a manager. */
const programOf = (userAgent: string): string => userAgent.split('/', 1)[0] ?? '';

const traceOf = (traceparent: string): string => /^[\da-f]{2}-([\da-f]{32})-/.exec(traceparent)?.[1] ?? '';
