import type { ApiRequest } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, type Ids, labelText, type MetricRegistry } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import { historyPartsOf, isHistoryPath, selectingQuery } from '../http/history-path.ts';
import { type RequestInfo, readRequestInfo } from '../http/request-info.ts';
import { withSelectedName } from '../http/selected-name.ts';
import { sentAuditId } from './event.ts';
import { AUDIT_LEVELS } from './notes.ts';
import { type AuditPolicy, decideAudit, decideForAll } from './policy.ts';
import type { AuditSink } from './sink.ts';
import { AuditTrail } from './trail.ts';

/** The operator's settings. */
export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly sinks: readonly AuditSink[];
}

export interface AuditorDeps extends AuditOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly registry: MetricRegistry;
}

/** Decides which requests are audited, and brings their events to the sinks. */
export class Auditor {
  readonly #deps: AuditorDeps;
  readonly #count: AuditCounts;

  constructor(deps: AuditorDeps) {
    this.#deps = deps;
    this.#count = registerMetrics(deps);
  }

  /** The id of a request: from the client, or generated and returned with the response. */
  idOf(request: ApiRequest): { readonly id: string; readonly isOwn: boolean } {
    const sent = sentAuditId(request);
    return sent === undefined ? { id: this.#deps.ids.uuid(), isOwn: true } : { id: sent, isOwn: false };
  }

  /** `undefined`: the policy wants no event of this request. */
  begin(request: ApiRequest, auditId: string, user: User | undefined): AuditTrail | undefined {
    const { clock, policy } = this.#deps;
    const receivedAt = clock.now();
    const info = auditedInfo(request);
    const decision = isHistoryOfAll(request.path) ? decideForAll(policy, user, info) : decideAudit(policy, user, info);
    this.#count.level(decision.level);
    if (decision.level === 'None') return undefined;
    return new AuditTrail(request, info, user, {
      auditId,
      receivedAt,
      decision,
      now: () => clock.now(),
      emit: (event) => this.#emit(event),
    });
  }

  /** Throws when the first event of a request was lost and the request must not pass without it. */
  async received(trail: AuditTrail): Promise<void> {
    if ((await trail.received()) !== false) return;
    this.#count.rejected();
    const message = 'Internal error occurred: failed to store audit event';
    throw new StatusError({ code: 500, reason: 'InternalError', message });
  }

  #emit(event: string): Promise<boolean> | boolean | undefined {
    this.#count.event();
    const taken = this.#deps.sinks.map((sink) => sink.take(event));
    if (taken.every((each) => each === undefined)) return undefined;
    return Promise.all(taken.map(async (each) => each)).then((kept) => !kept.includes(false));
  }
}

/**
 * A read of the past of a resource is a read of that resource for the policy; its own path is in the event. A list of a single name is a
 * request for that object, as it is for the authorizers.
 */
function auditedInfo(request: ApiRequest): RequestInfo {
  const own = withSelectedName(readRequestInfo(request));
  if (!isHistoryPath(request.path) || request.method !== 'GET') return own;
  const { place } = historyPartsOf(request.path);
  const asked = readRequestInfo({ method: 'GET', path: place, query: selectingQuery(request) });
  return asked.kind === 'resource' ? withSelectedName(asked) : own;
}

const isHistoryOfAll = (path: string): boolean => {
  if (!isHistoryPath(path)) return false;
  const { what, place } = historyPartsOf(path);
  return what === 'changes' && place === '';
};

interface AuditCounts {
  readonly event: () => void;
  readonly level: (level: string) => void;
  readonly rejected: () => void;
}

/** Under the names of Kubernetes. */
function registerMetrics({ registry, sinks }: AuditorDeps): AuditCounts {
  const event = registry.counter('apiserver_audit_event_total', 'Audit events that were made.', []).series([]);
  const rejected = registry
    .counter('apiserver_audit_requests_rejected_total', 'Requests that were refused because their event was lost.', [])
    .series([]);
  const levels = registry.counter('apiserver_audit_level_total', 'Requests by audit level.', ['level']);
  const byLevel = new Map<string, () => void>(AUDIT_LEVELS.map((level) => [level, levels.series([level])]));
  registry.counted('apiserver_audit_error_total', 'Audit events that were lost, by sink.', () =>
    sinks.map((sink) => [labelText(['plugin'], [sink.name]), sink.lost()]),
  );
  return { event, rejected, level: (level) => byLevel.get(level)?.() };
}
