import type { ApiRequest } from '@holdfast/client';
import { isTrue, type ResourceRequest } from '../http/request-info.ts';

/** The estimated cost of a request, by the rules of Kubernetes 1.32. */
export interface WorkEstimate {
  readonly seats: number;
  /** Seat-milliseconds after its answer: its change is sent to watchers. */
  readonly extraWork: number;
}

export interface WorkFacts {
  /** Objects of the resource. */
  readonly objects: () => number;
  /** Its open watches. */
  readonly watchers: () => number;
  readonly seatsMax: number;
}

export const ONE_SEAT: WorkEstimate = { seats: 1, extraWork: 0 };

/** Whatever a level would allow. */
const LIST_SEATS_MAX = 10;
const OBJECTS_PER_SEAT = 100;
const WATCHERS_PER_SEAT = 10;
const EVENT_MS = 5;

export function estimateWork(request: ApiRequest, info: ResourceRequest, facts: WorkFacts): WorkEstimate {
  switch (info.verb) {
    case 'list':
      return listEstimate(request.query, info, facts);
    case 'watch':
      return isTrue(request.query.get('sendInitialEvents')) ? listEstimate(request.query, info, facts) : ONE_SEAT;
    case 'create':
    case 'update':
    case 'patch':
    case 'delete':
      return writeEstimate(facts);
    default:
      return ONE_SEAT;
  }
}

function listEstimate(query: URLSearchParams, { verb, name }: ResourceRequest, facts: WorkFacts): WorkEstimate {
  // A list of a single name costs as much as reading one object.
  if (name !== '' || query.get('fieldSelector')?.startsWith('metadata.name=') === true) return ONE_SEAT;
  const stored = facts.objects();
  const asked = Number(query.get('limit') ?? '0');
  const limit = asked > 0 && asked < stored ? asked : stored;
  const isPage = verb === 'list' && (query.has('continue') || (asked > 0 && query.get('resourceVersion') !== '0'));
  const selects = query.has('labelSelector') || query.has('fieldSelector');
  const read = isPage ? (selects ? stored + limit : 2 * limit) : stored;
  const most = Math.min(facts.seatsMax, LIST_SEATS_MAX);
  return { seats: Math.max(1, Math.min(most, Math.ceil(read / OBJECTS_PER_SEAT))), extraWork: 0 };
}

function writeEstimate({ watchers }: WorkFacts): WorkEstimate {
  const count = watchers();
  if (count < WATCHERS_PER_SEAT) return ONE_SEAT;
  return { seats: 1, extraWork: Math.ceil(count / WATCHERS_PER_SEAT) * EVENT_MS };
}
