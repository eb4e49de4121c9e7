import {
  chargeQuotas,
  findResource,
  type QuotaUse,
  quotaEvaluatorFor,
  RESOURCE_QUOTAS,
  type ResourceQuota,
} from '@holdfast/api';
import { conflict, forbiddenError, MODIFIED_CONCURRENTLY, type StatusError } from '@holdfast/machinery';
import { invariant } from '@holdfast/platform';
import type { WriteOperation } from '@holdfast/store';
import { encodeStored } from '../../cache/stored-json.ts';
import { QUOTA_ATTEMPTS_MAX, QUOTA_UNKNOWN_MS } from '../../limits.ts';
import { keyOf } from '../../objects/object-keys.ts';
import { createKeyedMutex, type KeyedMutex } from '../../turns/keyed-mutex.ts';
import {
  type AdmissionDeps,
  type AdmissionPlugin,
  type AdmissionRequest,
  subjectOfRequest,
  type WriteCompanion,
} from '../port.ts';

/**
 * A namespace gets no more than its quotas allow. What a write uses is added to the quotas in the same store write as the
 * object, by compare-and-swap: neither a race nor a crash can make the count differ from what was let in. A quota that was
 * stored more than `QUOTA_UNKNOWN_MS` ago is known, also to a server whose cache lags.
 */
export const createResourceQuota = (deps: AdmissionDeps): AdmissionPlugin => {
  const { reader } = deps;
  const mutex = createKeyedMutex();
  const judge = (request: AdmissionRequest, quotas: readonly ResourceQuota[]): Promise<void> | undefined =>
    quotas.length === 0 ? undefined : accompany(deps, { request, quotas, mutex });
  const known = ({ namespace }: AdmissionRequest) => reader.list(RESOURCE_QUOTAS, namespace);
  return {
    name: 'ResourceQuota',
    handles: ({ definition, operation, subresource }) =>
      definition.namespaced &&
      subresource === '' &&
      operation !== 'DELETE' &&
      quotaEvaluatorFor(definition.group, definition.plural)?.handles(operation) === true,
    validate: (request) => {
      const isRecent = reader.recency.isWithin(QUOTA_UNKNOWN_MS);
      if (isRecent === true) return judge(request, known(request));
      return isRecent.then(async (is) =>
        judge(request, is ? known(request) : await reader.listFresh(RESOURCE_QUOTAS, request.namespace)),
      );
    },
  };
};

interface Judged {
  readonly request: AdmissionRequest;
  readonly quotas: readonly ResourceQuota[];
  readonly mutex: KeyedMutex;
}

async function accompany(deps: AdmissionDeps, { request, quotas, mutex }: Judged): Promise<void> {
  const use = useOf(deps, request);
  if (use === undefined) return;
  const verdict = chargeQuotas(quotas, use);
  if (verdict.kind === 'granted' && verdict.charged.length === 0) return;
  const charge: Charge = { request, use, names: quotas.map(({ metadata }) => metadata.name ?? '') };
  // The cache may not know yet what was given back.
  if (verdict.kind === 'refused') await decide(deps, charge);
  request.accompany(companionFor(deps, charge, mutex));
}

interface Charge {
  readonly request: AdmissionRequest;
  readonly use: QuotaUse;
  readonly names: readonly string[];
}

function useOf({ clock }: AdmissionDeps, { definition, object, old }: AdmissionRequest): QuotaUse | undefined {
  const evaluator = quotaEvaluatorFor(definition.group, definition.plural);
  if (evaluator === undefined || object === undefined) return undefined;
  return { evaluator, object, old, now: clock.now() };
}

/** The quotas as they are after this write; throws when one of them does not allow it. */
async function decide(deps: AdmissionDeps, { request, use, names }: Charge): Promise<readonly ResourceQuota[]> {
  const { namespace } = request;
  const stored = await Promise.all(names.map((name) => deps.reader.fresh(RESOURCE_QUOTAS, { namespace, name })));
  const verdict = chargeQuotas(
    stored.filter((quota) => quota !== undefined),
    use,
  );
  if (verdict.kind === 'granted') return verdict.charged;
  throw forbiddenError(subjectOfRequest(request), verdict.why);
}

/** Writes of one namespace run one after the other here, so that they seldom conflict; a conflict with another server is tried again. */
function companionFor(deps: AdmissionDeps, charge: Charge, mutex: KeyedMutex): WriteCompanion {
  return {
    write: (object, commit) =>
      mutex.run(charge.request.namespace, async () => {
        for (let attempt = 1; attempt <= QUOTA_ATTEMPTS_MAX; attempt++) {
          const charged = await decide(deps, charge);
          const { result, lostOwn } = await commit(object, charged.map(updateOf));
          if (lostOwn === undefined) return result;
        }
        throw contended(charge);
      }),
  };
}

function updateOf(quota: ResourceQuota): WriteOperation {
  const definition = findResource(RESOURCE_QUOTAS.group, RESOURCE_QUOTAS.version, RESOURCE_QUOTAS.plural);
  invariant(definition !== undefined, 'resource quotas are served');
  const { name = '', namespace = '', resourceVersion } = quota.metadata;
  return {
    kind: 'update',
    key: keyOf(definition, namespace, name),
    value: encodeStored(quota),
    expectedRevision: Number(resourceVersion),
  };
}

const contended = ({ names }: Charge): StatusError =>
  conflict({ group: '', resource: 'resourcequotas', name: names[0] ?? '' }, MODIFIED_CONCURRENTLY);
